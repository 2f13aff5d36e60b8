// Tab 1: one word against every other, on every layer.

import { getSentences } from "./api.js";
import { chips, chosenWord, sentencesField, textsOf } from "./chips.js";
import { failure, h, number, segmented } from "./dom.js";
import { paint } from "./color.js";
import { heatMap, scaleKey } from "./heatmap.js";
import { layerName, t } from "./i18n.js";
import { change } from "./state.js";
import { cosine, mix } from "./vectors.js";

const N_PAIRS = 8;

export function sentencesTab(panel, context) {
  const field = h("div", {});
  const found = h("div", { class: "results", "aria-busy": "true" });
  const words = h("div", {});
  panel.append(
    h("p", { class: "lede" }, t("sentences.lede")),
    h("div", { class: "columns entry" }, field, words),
    found,
  );
  let fieldOf = null;
  let turn = 0;
  let map = null;

  return async function update(said) {
    const model = context.model(said);
    const { text, lines, nMore } = textsOf(said, model);
    if (fieldOf !== model.name) field.replaceChildren(sentencesField(said, model));
    fieldOf = model.name;
    const input = field.querySelector("textarea");
    if (input !== document.activeElement) input.value = text;
    const mine = ++turn;
    if (!lines.length) {
      words.replaceChildren();
      found.replaceChildren(h("p", { class: "note" }, t("sentences.empty")));
      return;
    }
    try {
      const sentences = await getSentences(model.name, lines, model.n_layers);
      if (mine !== turn) return;
      map?.close();
      map = show(words, found, sentences, chosenWord(said, model, sentences), said, model, context);
      if (nMore) words.append(h("p", { class: "note" }, t("sentences.many", { n: lines.length })));
    } catch (error) {
      if (mine === turn) found.replaceChildren(failure(error));
    }
    found.setAttribute("aria-busy", "false");
  };
}

function show(words, root, sentences, chosen, said, model, context) {
  const views = new Map();
  for (let layer = 0; layer < model.n_layers; layer++) {
    views.set(
      layer,
      sentences.map((one) => one.layers[layer]),
    );
  }
  const uniform = Array(model.n_layers).fill(1 / model.n_layers);
  views.set(
    "mix",
    sentences.map((one) =>
      one.tokens.map((_, place) =>
        mix(
          one.layers.map((layer) => layer[place]),
          uniform,
        ),
      ),
    ),
  );
  views.set(
    "expected",
    sentences.map((one) => one.expected),
  );

  const [s, place] = chosen;
  const word = sentences[s].tokens[place];
  const keys = [...views.keys()];
  const layer = keys.find((key) => String(key) === said.layer) ?? keys[keys.length - 3];
  const alike = (key, otherS, otherPlace) => {
    const vectors = views.get(key);
    return cosine(vectors[s][place], vectors[otherS][otherPlace]);
  };
  const choose = (newS, newPlace) => {
    context.keepFocus();
    change({ word: `${newS}.${newPlace}` });
  };

  const map = heatMap({
    sentences,
    rows: keys.map((key) => [key, layerName(key)]),
    chosen,
    values: alike,
    choose,
  });
  words.replaceChildren(chips(sentences, chosen, choose));
  root.replaceChildren(
    h(
      "section",
      { "aria-labelledby": "heat-title" },
      h("h2", { id: "heat-title" }, t("heat.title", { word, n: s + 1 })),
      h(
        "div",
        { class: "under-title" },
        h("p", { class: "what" }, t("heat.what")),
        scaleKey(t("heat.low"), t("heat.high")),
      ),
      map.element,
      layerNotes(model.n_layers),
    ),
    h(
      "div",
      { class: "toolbar" },
      h("span", { class: "toolbar-label", "aria-hidden": "true" }, t("heat.layer")),
      segmented(
        t("pairs.layer"),
        keys.filter((key) => key !== 0).map((key) => [String(key), layerName(key)]),
        String(layer),
        (value) => {
          context.keepFocus();
          change({ layer: value });
        },
      ),
    ),
    h(
      "div",
      { class: "columns" },
      sameSpelling(sentences, chosen, layer, alike, choose),
      mostAlike(sentences, views.get(layer), layer),
    ),
  );
  const others = sentences
    .flatMap((one, k) => one.tokens.map((token, at) => [token, k, at]))
    .filter(([, k, at]) => k !== s || at !== place)
    .sort((a, b) => alike(layer, b[1], b[2]) - alike(layer, a[1], a[2]))
    .slice(0, 3)
    .map(([token, k, at]) => `${token} ${number(alike(layer, k, at))}`);
  context.announce(
    t("said.chosen", { word, n: s + 1, layer: layerName(layer), others: others.join(", ") }),
  );
  return map;
}

function layerNotes(nLayers) {
  const upper = Array.from({ length: nLayers - 1 }, (_, k) => k + 1).join(", ");
  const names = [
    ["layer.0", layerName(0)],
    ["layer.n", t("layer.n", { n: upper })],
    ["layer.mix", t("layer.mix")],
    ["layer.expected", t("layer.expected")],
  ];
  return h(
    "dl",
    { class: "notes" },
    names.map(([key, name]) => h("div", {}, h("dt", {}, name), h("dd", {}, t(`${key}.what`)))),
  );
}

/** The other places where the word is written the same. */
function sameSpelling(sentences, chosen, layer, alike, choose) {
  const [s, place] = chosen;
  const word = sentences[s].tokens[place];
  const others = sentences.flatMap(({ tokens }, k) =>
    tokens
      .map((token, at) => [token, k, at])
      .filter(([token, k2, at]) => token === word && (k2 !== s || at !== place)),
  );
  const cell = (key, k, at) => {
    const value = alike(key, k, at);
    const made = h("td", {}, number(value));
    paint(made, value);
    return made;
  };
  return h(
    "section",
    { "aria-labelledby": "same-title" },
    h("h2", { id: "same-title" }, t("same.title")),
    h("p", { class: "what" }, t(others.length ? "same.what" : "same.none", { word })),
    others.length > 0 &&
      h(
        "table",
        { class: "compare" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, t("same.place", { word })),
            h("th", { scope: "col" }, t("layer.static")),
            h("th", { scope: "col" }, layerName(layer)),
          ),
        ),
        h(
          "tbody",
          {},
          others.map(([, k, at]) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                h(
                  "button",
                  { type: "button", class: "plain", onclick: () => choose(k, at) },
                  h("span", { class: "chip-number" }, String(k + 1)),
                  written(sentences[k], at),
                ),
              ),
              cell(0, k, at),
              cell(layer, k, at),
            ),
          ),
        ),
      ),
  );
}

/** A sentence as it was typed, one of its words marked. */
function written({ text, spans }, place) {
  const characters = [...text]; // spans count code points
  const [start, end] = spans[place];
  const part = (from, to) => characters.slice(from, to).join("");
  return [part(0, start), h("mark", {}, part(start, end)), part(end)];
}

function mostAlike(sentences, vectors, layer) {
  const words = sentences
    .flatMap(({ tokens }, s) => tokens.map((token, place) => ({ token, s, place })))
    .filter(({ token }) => /[\p{L}\p{N}]/u.test(token));
  const pairs = [];
  words.forEach((a, k) => {
    for (const b of words.slice(k + 1)) {
      if (a.s !== b.s && a.token !== b.token)
        pairs.push({ a, b, alike: cosine(vectors[a.s][a.place], vectors[b.s][b.place]) });
    }
  });
  pairs.sort((one, other) => other.alike - one.alike);
  const name = ({ token, s }) => [h("b", {}, token), h("sub", {}, String(s + 1))];
  return h(
    "section",
    { "aria-labelledby": "pairs-title" },
    h("h2", { id: "pairs-title" }, `${t("pairs.title")} · ${layerName(layer)}`),
    h("p", { class: "what" }, t(pairs.length ? "pairs.what" : "pairs.none")),
    pairs.length > 0 &&
      h(
        "ol",
        { class: "bars" },
        pairs
          .slice(0, N_PAIRS)
          .map(({ a, b, alike }) =>
            h(
              "li",
              {},
              h("span", { class: "bar-name" }, name(a), " – ", name(b)),
              h(
                "span",
                { class: "bar" },
                h("i", { style: { width: `${100 * Math.max(0, alike)}%` } }),
              ),
              h("span", { class: "bar-value" }, number(alike)),
            ),
          ),
      ),
  );
}
