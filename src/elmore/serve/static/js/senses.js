// Tab 4: the occurrences of a word as a map, by sense; and change of meaning between two indexes.

import { getMap } from "./api.js";
import { changeSection } from "./change.js";
import { failure, h, marked } from "./dom.js";
import { t } from "./i18n.js";
import { senseMap } from "./map.js";
import { STATIC, firstWord, indexOf, senseControls } from "./sense-controls.js";
import { senseLegend, sentenceList, symbol } from "./sense-list.js";
import { change } from "./state.js";
import { aligned } from "./vectors.js";

const PAGE = matchMedia("(max-width: 720px)").matches ? 8 : 20; // sentences listed at once
const MAX_SENT = 200; // selected points that an address holds

/** On a phone the words are a box that scrolls. */
function showChosen(words) {
  const chosen = words.querySelector("[aria-pressed=true]");
  if (chosen) words.scrollTop = chosen.offsetTop - words.offsetTop - words.clientHeight / 2;
}

export function sensesTab(panel, context) {
  panel.append(h("p", { class: "lede" }, t("senses.lede")));
  if (!context.indexes.length) {
    panel.append(
      h("p", {}, t("senses.none")),
      h(
        "pre",
        { tabindex: 0 },
        "elmore index corpus.txt --words bank,spring --layers top,expected --out words\nelmore serve --index words=words",
      ),
    );
    return () => {};
  }
  const controls = h("div", {});
  const note = h("p", { class: "note" }, t("senses.static.note"));
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const map = senseMap({ onHover: hover, onSelect: select });
  const status = h("div", { class: "map-status" });
  const legend = h("div", { class: "legend" });
  const list = h("div", { class: "occurrences" });
  const changes = changeSection(context);
  panel.append(
    controls,
    h(
      "div",
      { class: "map-columns" },
      h("div", { class: "map-frame" }, map.element, tip, status),
      legend,
    ),
    h("p", { class: "what" }, t("senses.map.what")),
    note,
    list,
    changes.element,
  );
  let answer = null;
  let turn = 0;
  let lastPlaces = null;
  let lastKey = null;
  let lastView = null;
  let nListed = PAGE;

  async function update(said) {
    const index = indexOf(said, context);
    const layers = index.layers.map(String);
    const layer = [STATIC, ...layers].includes(said.maplayer) ? said.maplayer : layers.at(-1);
    const method = said.method === "tsne" ? "tsne" : "pca";
    const word = said.of ?? firstWord(index);
    controls.replaceChildren(...senseControls(context, index, layer, method, word));
    showChosen(controls.querySelector(".words"));
    note.hidden = layer !== STATIC;
    changes.update(said, index);
    const mine = ++turn;
    status.replaceChildren(h("p", { class: "note" }, t(method === "tsne" ? "senses.tsne" : "loading")));
    try {
      const found = await getMap(
        index.name,
        word,
        layer === STATIC ? layers.at(-1) : layer,
        method,
      );
      if (mine !== turn) return;
      status.replaceChildren();
      const view = JSON.stringify([index.name, word, layer, method]);
      answer = found;
      if (view !== lastView) {
        nListed = PAGE;
        place(layer === STATIC, `${index.name} ${word}`);
      }
      lastView = view;
      showSelection(said, index);
    } catch (error) {
      if (mine !== turn) return;
      answer = lastView = null;
      map.setPoints([]);
      status.replaceChildren(failure(error));
      legend.replaceChildren();
      list.replaceChildren();
    }
  }

  /** Give the map its points, turned so that they move as little as they can. */
  function place(isStatic, key) {
    const { points } = answer;
    let places = points.map(({ x, y }) => [x, y]);
    if (key === lastKey && lastPlaces?.length === places.length)
      places = aligned(places, lastPlaces);
    const middle = [0, 1].map((axis) => {
      const values = places.map((one) => one[axis]);
      return [
        (Math.max(...values) + Math.min(...values)) / 2,
        (Math.max(...values) - Math.min(...values)) / 2 || 1,
      ];
    });
    if (!isStatic) lastPlaces = places;
    if (key !== lastKey) map.setPoints([]);
    lastKey = key;
    map.setPoints(
      points.map(({ sense }, k) => ({
        sense,
        x: isStatic ? 0 : (places[k][0] - middle[0][0]) / middle[0][1],
        y: isStatic ? 0 : (places[k][1] - middle[1][0]) / middle[1][1],
      })),
    );
    map.element.setAttribute(
      "aria-label",
      t("senses.map", { n: points.length, word: answer.word, senses: answer.senses.length }),
    );
  }

  function showSelection(said, index) {
    const { points, senses } = answer;
    const sense = senses[Number(said.sense)] ? Number(said.sense) : null;
    const chosen = (said.points ?? "")
      .split(".")
      .filter(Boolean)
      .map((one) => Number.parseInt(one, 36))
      .filter((k) => k < points.length);
    map.show(chosen, sense);
    legend.replaceChildren(...senseLegend(context, index, answer, sense, chosen));
    const showMore = (n) => {
      nListed = n;
      showSelection(said, index);
    };
    list.replaceChildren(
      ...sentenceList(context, answer, sense, chosen, nListed, {
        point: map.point,
        select,
        showMore,
      }),
    );
  }

  function hover(k, at) {
    tip.hidden = k < 0 || !answer;
    if (tip.hidden) return;
    const point = answer.points[k];
    tip.replaceChildren(symbol(point.sense), h("span", {}, marked(point)));
    const frame = map.element.clientWidth;
    const onRight = at[0] > frame / 2;
    tip.style.top = `${at[1] + 14}px`;
    tip.style.left = onRight ? "auto" : `${Math.max(0, at[0] - 20)}px`;
    tip.style.right = onRight ? `${Math.max(0, frame - at[0] - 20)}px` : "auto";
  }

  function select(chosen) {
    if (chosen.length) context.announce(t("senses.said", { n: chosen.length }));
    change({
      points:
        chosen
          .slice(0, MAX_SENT)
          .map((k) => k.toString(36))
          .join(".") || null,
      sense: null,
    });
  }

  return update;
}
