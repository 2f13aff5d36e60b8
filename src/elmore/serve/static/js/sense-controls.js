// Which occurrences are on the map: the index, the layer, the projection, the word.

import { h, roving, segmented } from "./dom.js";
import { t } from "./i18n.js";
import { change } from "./state.js";

/** The layer on which every occurrence of a word has the same vector. */
export const STATIC = "0";

const FAVOURITES = ["bank", "사과"];

/** What is shown of which index: two rows of choices. */
export function senseControls(context, index, layer, method, word) {
  const choose = (name) => (value) => {
    context.keepFocus();
    change({ [name]: value });
  };
  const numbers = index.layers.filter((one) => String(one) !== STATIC);
  const controls = h(
    "div",
    { class: "toolbar" },
    h(
      "div",
      { class: "field inline" },
      h("label", { for: "senses-index" }, t("senses.index")),
      h(
        "select",
        {
          id: "senses-index",
          onchange: (event) =>
            change({
              index: event.target.value,
              of: null,
              sense: null,
              points: null,
              before: null,
              after: null,
              changed: null,
            }),
        },
        context.indexes.map((one) =>
          h("option", { value: one.name, selected: one === index }, one.name),
        ),
      ),
    ),
    h(
      "div",
      { class: "field inline" },
      h("span", { class: "toolbar-label", "aria-hidden": "true" }, t("senses.layer")),
      segmented(
        t("senses.layer"),
        [
          [STATIC, t("senses.static")],
          ...numbers.map((one) => [
            String(one),
            typeof one === "number" ? String(one) : t(`layer.${one}`),
          ]),
        ],
        layer,
        choose("maplayer"),
      ),
    ),
    h(
      "div",
      { class: "field inline" },
      h("span", { class: "toolbar-label", "aria-hidden": "true" }, t("senses.method")),
      segmented(
        t("senses.method"),
        [
          ["pca", "PCA"],
          ["tsne", "t-SNE"],
        ],
        method,
        choose("method"),
      ),
    ),
  );
  const open = (value) => {
    context.keepFocus();
    change({ of: value, sense: null, points: null }, { isStep: true });
  };
  const shown = index.words
    .slice(0, 60)
    .map((one) => one.word)
    .sort((a, b) => a.localeCompare(b));
  const words = h(
    "div",
    { class: "words", role: "group", "aria-label": t("senses.word") },
    ...shown.map((one) =>
      h(
        "button",
        {
          type: "button",
          class: "chip",
          "data-word": one,
          "aria-pressed": String(one === word),
          onclick: () => open(one),
        },
        one,
      ),
    ),
    ...(index.n_words > shown.length
      ? [
          h(
            "form",
            {
              class: "find",
              onsubmit: (event) => {
                event.preventDefault();
                open(event.target.elements.find.value.trim());
              },
            },
            h("input", {
              name: "find",
              type: "text",
              "aria-label": t("senses.find"),
              placeholder: t("senses.find"),
              list: "index-words",
            }),
            h(
              "datalist",
              { id: "index-words" },
              index.words.map((one) => h("option", { value: one.word })),
            ),
          ),
        ]
      : []),
  );
  roving(words);
  return [controls, words];
}

/** The index of an address, or the largest one of the model that is chosen. */
export function indexOf(said, context) {
  const { indexes } = context;
  const model = context.model(said).name;
  const fitting = indexes.filter((one) => one.model === model);
  return (
    indexes.find((one) => one.name === said.index) ??
    (fitting.length ? fitting : indexes).reduce((a, b) =>
      b.n_occurrences > a.n_occurrences ? b : a,
    )
  );
}

/** The word that is shown unless another is asked for. */
export function firstWord(index) {
  const words = index.words.map((one) => one.word);
  return FAVOURITES.find((word) => words.includes(word)) ?? words[0];
}
