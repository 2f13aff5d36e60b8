// Sentences whose words can be chosen, and the field where they are typed.

import { debounce, h, roving } from "./dom.js";
import { examplesFor, t } from "./i18n.js";
import { change } from "./state.js";

const MAX_SENTENCES = 12;

/** The texts of an address, or the examples. */
export function textsOf(said, model) {
  const text = said.text ?? examplesFor(model).sentences;
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  return {
    text,
    lines: lines.slice(0, MAX_SENTENCES),
    nMore: Math.max(0, lines.length - MAX_SENTENCES),
  };
}

/** Which word is chosen, kept inside the sentences: [sentence, place]. */
export function chosenWord(said, model, sentences) {
  const asked = said.word ?? (said.text === undefined ? examplesFor(model).word : "0.0");
  const [s, place] = asked.split(".").map((part) => Number.parseInt(part, 10) || 0);
  const sentence = Math.min(Math.max(s, 0), sentences.length - 1);
  return [sentence, Math.min(Math.max(place, 0), sentences[sentence].tokens.length - 1)];
}

export function sentencesField(said, model) {
  const { text } = textsOf(said, model);
  const field = h("textarea", {
    id: "sentences-text",
    rows: Math.min(8, Math.max(3, text.split("\n").length)),
    spellcheck: "false",
    value: text,
    oninput: debounce(() => {
      const typed = field.value;
      change({ text: typed === examplesFor(model).sentences ? null : typed || " ", word: null });
    }, 350),
  });
  return h(
    "div",
    { class: "field" },
    h("label", { for: "sentences-text" }, t("sentences.label")),
    field,
  );
}

/** The words of all sentences as buttons. */
export function chips(sentences, chosen, choose) {
  return h(
    "div",
    { class: "chips", role: "group", "aria-label": t("sentences.choose") },
    sentences.map(({ tokens }, s) => {
      const row = h(
        "div",
        { class: "chip-row", role: "group", "aria-label": t("sentences.sentence", { n: s + 1 }) },
        h("span", { class: "chip-number", "aria-hidden": "true" }, String(s + 1)),
        tokens.map((token, place) => {
          const isChosen = s === chosen[0] && place === chosen[1];
          const isSame = !isChosen && token === sentences[chosen[0]].tokens[chosen[1]];
          return h(
            "button",
            {
              type: "button",
              class: isSame ? "chip same" : "chip",
              "aria-pressed": String(isChosen),
              "data-word": `${s}.${place}`,
              onclick: () => choose(s, place),
            },
            token,
          );
        }),
      );
      roving(row);
      return row;
    }),
  );
}
