// Tab 4: the occurrences of a word as a map, by sense; and change of meaning between two indexes.

import { getMap } from "./api.js";
import { changeSection } from "./change.js";
import { senseColor, senseStyle } from "./color.js";
import { failure, h, marked, segmented, svg } from "./dom.js";
import { t } from "./i18n.js";
import { senseMap, shapePath } from "./map.js";
import { change } from "./state.js";
import { aligned } from "./vectors.js";

const PAGE = matchMedia("(max-width: 720px)").matches ? 8 : 20; // sentences listed at once
const MAX_SENT = 200; // selected points that an address holds
const STATIC = "0";
const FAVOURITES = ["bank", "사과"];

export function sensesTab(panel, context) {
  panel.append(h("p", { class: "lede" }, t("senses.lede")));
  if (!context.indexes.length) {
    panel.append(
      h("p", {}, t("senses.none")),
      h("pre", { tabindex: 0 }, "elmore index corpus.txt --words bank,spring --layers top,expected --out words\nelmore serve --index words=words"),
    );
    return () => {};
  }
  const controls = h("div", { class: "toolbar" });
  const words = h("div", { class: "words", role: "group", "aria-label": t("senses.word") });
  const note = h("p", { class: "note" });
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const map = senseMap({ onHover: hover, onSelect: select });
  const status = h("div", { class: "map-status" });
  const legend = h("div", { class: "legend" });
  const list = h("div", { class: "occurrences" });
  const changes = changeSection(context);
  panel.append(
    controls,
    words,
    h("div", { class: "map-columns" },
      h("div", { class: "map-frame" }, map.element, tip, status),
      legend),
    h("p", { class: "what" }, t("senses.map.what")),
    note,
    list,
    changes.element,
  );
  let answer = null;
  let turn = 0;
  let lastPlaces = null;
  let lastKey = null;
  let nListed = PAGE;

  async function update(said) {
    const index = indexOf(said, context);
    const layers = index.layers.map(String);
    const layer = [STATIC, ...layers].includes(said.maplayer) ? said.maplayer : layers.at(-1);
    const method = said.method === "tsne" ? "tsne" : "pca";
    const word = said.of ?? firstWord(index);
    showControls(index, layer, method, word);
    changes.update(said, index);
    const mine = ++turn;
    status.replaceChildren(h("p", { class: "note" }, t("loading")));
    try {
      const found = await getMap(index.name, word, layer === STATIC ? layers.at(-1) : layer, method);
      if (mine !== turn) return;
      status.replaceChildren();
      const key = `${index.name} ${word}`;
      if (answer !== found || key !== lastKey) nListed = PAGE;
      answer = found;
      place(layer === STATIC, key);
      showSelection(said, index);
    } catch (error) {
      if (mine !== turn) return;
      answer = null;
      map.setPoints([]);
      status.replaceChildren(failure(error));
      legend.replaceChildren();
      list.replaceChildren();
    }
  }

  function showControls(index, layer, method, word) {
    const choose = (name) => (value) => {
      context.keepFocus();
      change({ [name]: value });
    };
    const numbers = index.layers.filter((one) => String(one) !== STATIC);
    controls.replaceChildren(
      h("div", { class: "field inline" },
        h("label", { for: "senses-index" }, t("senses.index")),
        h("select", { id: "senses-index", onchange: (event) => change({ index: event.target.value, of: null, sense: null, points: null, before: null, after: null, changed: null }) },
          context.indexes.map((one) => h("option", { value: one.name, selected: one === index }, one.name)))),
      h("div", { class: "field inline" }, h("span", { class: "toolbar-label", "aria-hidden": "true" }, t("senses.layer")),
        segmented(t("senses.layer"), [[STATIC, t("senses.static")], ...numbers.map((one) => [String(one), typeof one === "number" ? String(one) : t(`layer.${one}`)])], layer, choose("maplayer"))),
      h("div", { class: "field inline" }, h("span", { class: "toolbar-label", "aria-hidden": "true" }, t("senses.method")),
        segmented(t("senses.method"), [["pca", "PCA"], ["tsne", "t-SNE"]], method, choose("method"))),
    );
    const open = (value) => {
      context.keepFocus();
      change({ of: value, sense: null, points: null }, { isStep: true });
    };
    const shown = index.words.slice(0, 60).map((one) => one.word).sort((a, b) => a.localeCompare(b));
    words.replaceChildren(
      ...shown.map((one) => h("button", { type: "button", class: "chip", "data-word": one, "aria-pressed": String(one === word), onclick: () => open(one) }, one)),
      ...(index.n_words > shown.length
        ? [h("form", { class: "find", onsubmit: (event) => { event.preventDefault(); open(event.target.elements.find.value.trim()); } },
            h("input", { name: "find", type: "text", "aria-label": t("senses.find"), placeholder: t("senses.find"), list: "index-words" }),
            h("datalist", { id: "index-words" }, index.words.map((one) => h("option", { value: one.word }))))]
        : []),
    );
    note.textContent = layer === STATIC ? t("senses.static.note") : "";
    note.hidden = layer !== STATIC;
  }

  /** Give the map its points, turned so that they move as little as they can. */
  function place(isStatic, key) {
    const { points } = answer;
    let places = points.map(({ x, y }) => [x, y]);
    if (key === lastKey && lastPlaces?.length === places.length) places = aligned(places, lastPlaces);
    const middle = [0, 1].map((axis) => {
      const values = places.map((one) => one[axis]);
      return [(Math.max(...values) + Math.min(...values)) / 2, (Math.max(...values) - Math.min(...values)) / 2 || 1];
    });
    if (!isStatic) lastPlaces = places;
    if (key !== lastKey) map.setPoints([]);
    lastKey = key;
    map.setPoints(points.map(({ sense }, k) => ({
      sense,
      x: isStatic ? 0 : (places[k][0] - middle[0][0]) / middle[0][1],
      y: isStatic ? 0 : (places[k][1] - middle[1][0]) / middle[1][1],
    })));
    map.element.setAttribute("aria-label", t("senses.map", { n: points.length, word: answer.word, senses: answer.senses.length }));
  }

  function showSelection(said, index) {
    const { points, senses, word } = answer;
    const sense = senses[Number(said.sense)] ? Number(said.sense) : null;
    const chosen = (said.points ?? "").split(".").filter(Boolean).map((one) => Number.parseInt(one, 36)).filter((k) => k < points.length);
    map.show(chosen, sense);
    const counts = senses.map((_, number) => points.filter((one) => one.sense === number).length);
    legend.replaceChildren(
      h("h2", {}, t("senses.legend")),
      h("ul", {}, senses.map((one, number) =>
        h("li", {},
          h("button", {
            type: "button", class: "sense", "aria-pressed": String(number === sense), "data-word": `sense ${number}`,
            onclick: () => { context.keepFocus(); change({ sense: number === sense ? null : number, points: null }); },
          },
            symbol(number),
            h("span", { class: "sense-words" },
              h("b", {}, one.substitutes.slice(0, 4).join(", ") || one.name),
              one.keywords.length > 0 && h("span", {}, `${t("senses.keywords")}: ${one.keywords.slice(0, 5).join(", ")}`),
              h("small", {}, t("senses.count", { n: counts[number], all: points.length }))))))),
      ...(senses.length === 1 ? [h("p", { class: "note" }, t("senses.one", { word }))] : []),
      ...(sense !== null || chosen.length
        ? [h("button", { type: "button", class: "quiet", onclick: () => change({ sense: null, points: null }) }, t("senses.all"))]
        : []),
      h("p", { class: "source" }, t("senses.source", { source: index.corpus.join(", ") })),
    );
    const rows = chosen.length
      ? chosen
      : points.map((_, k) => k).filter((k) => sense === null || points[k].sense === sense);
    const listed = rows.slice(0, nListed);
    list.replaceChildren(
      h("h2", {}, `${t(chosen.length || sense !== null ? "senses.list.selected" : "senses.list")} (${rows.length})`),
      h("ul", { class: "sentences" }, listed.map((k) =>
        h("li", {},
          h("button", {
            type: "button", class: "plain", "data-word": `point ${k}`,
            "aria-pressed": String(chosen.includes(k)),
            onfocus: () => map.point(k), onblur: () => map.point(-1),
            onpointerenter: () => map.point(k), onpointerleave: () => map.point(-1),
            onclick: () => { context.keepFocus(); select([k], false); },
          }, symbol(points[k].sense), h("span", {}, marked(points[k].tokens, points[k].place)))))),
      ...(rows.length > nListed
        ? [h("button", { type: "button", class: "quiet", onclick: () => { nListed += 5 * PAGE; showSelection(said, index); } }, t("senses.more", { n: Math.min(5 * PAGE, rows.length - nListed) }))]
        : []),
    );
  }

  function hover(k, at) {
    tip.hidden = k < 0 || !answer;
    if (tip.hidden) return;
    const { tokens, place: where, sense } = answer.points[k];
    tip.replaceChildren(symbol(sense), h("span", {}, marked(tokens, where)));
    const frame = map.element.clientWidth;
    const onRight = at[0] > frame / 2;
    tip.style.top = `${at[1] + 14}px`;
    tip.style.left = onRight ? "auto" : `${Math.max(0, at[0] - 20)}px`;
    tip.style.right = onRight ? `${Math.max(0, frame - at[0] - 20)}px` : "auto";
  }

  function select(chosen) {
    if (chosen.length) context.announce(t("senses.said", { n: chosen.length }));
    change({ points: chosen.slice(0, MAX_SENT).map((k) => k.toString(36)).join(".") || null, sense: null });
  }

  return update;
}

const symbol = (sense) =>
  svg("svg", { viewBox: "-7 -7 14 14", class: "symbol", "aria-hidden": "true" },
    svg("path", { d: shapePath(senseStyle(sense).shape), fill: senseColor(sense) }));

/** The index of an address, or the largest one of the model that is chosen. */
export function indexOf(said, context) {
  const { indexes } = context;
  const model = context.model(said).name;
  const fitting = indexes.filter((one) => one.model === model);
  return (
    indexes.find((one) => one.name === said.index) ??
    (fitting.length ? fitting : indexes).reduce((a, b) => (b.n_occurrences > a.n_occurrences ? b : a))
  );
}

function firstWord(index) {
  const words = index.words.map((one) => one.word);
  return FAVOURITES.find((word) => words.includes(word)) ?? words[0];
}
