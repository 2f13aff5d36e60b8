// Which words are used differently in two indexes of one model, and which senses rose or fell.

import { getChange, getChanges } from "./api.js";
import { failure, h, marked, number, percent } from "./dom.js";
import { t } from "./i18n.js";
import { change } from "./state.js";

const N_EXAMPLES = 2;

export function changeSection(context) {
  const root = h("section", { class: "change", "aria-labelledby": "change-title" });
  let turn = 0;
  let key = null;

  async function update(said, index) {
    const others = context.indexes.filter((one) => one.model === index.model);
    if (others.length < 2) {
      key = null;
      root.replaceChildren(
        h("h2", { id: "change-title" }, t("change.title")),
        h("p", { class: "what" }, t("change.needs")),
      );
      return;
    }
    const named = (name) => others.find((one) => one.name === name);
    const before = named(said.before) ?? others.find((one) => one !== named(said.after));
    const after = named(said.after) ?? others.find((one) => one !== before);
    const newKey = JSON.stringify([before.name, after.name, said.changed]);
    if (newKey === key) return;
    key = newKey;
    const mine = ++turn;
    const body = h(
      "div",
      { class: "columns change-columns", "aria-busy": "true" },
      h("p", { class: "note" }, t("loading")),
    );
    const choice = (name, label, chosen) =>
      h(
        "div",
        { class: "field inline" },
        h("label", { for: `change-${name}` }, label),
        h(
          "select",
          {
            id: `change-${name}`,
            onchange: (event) => change({ [name]: event.target.value, changed: null }),
          },
          others.map((one) => h("option", { value: one.name, selected: one === chosen }, one.name)),
        ),
      );
    root.replaceChildren(
      h("h2", { id: "change-title" }, t("change.title")),
      h("p", { class: "what" }, t("change.lede")),
      h(
        "div",
        { class: "toolbar" },
        choice("before", t("change.before"), before),
        choice("after", t("change.after"), after),
      ),
      body,
    );
    try {
      const words = await getChanges(before.name, after.name);
      const word = said.changed ?? words[0]?.word;
      const found = await getChange(before.name, after.name, word);
      if (mine !== turn) return;
      body.replaceChildren(
        wordList(words, word, context),
        senses(found, word, before.name, after.name),
      );
    } catch (error) {
      if (mine === turn) body.replaceChildren(failure(error));
    }
    body.setAttribute("aria-busy", "false");
    context.restoreFocus();
  }

  return { element: root, update };
}

function wordList(words, chosen, context) {
  const most = Math.max(...words.map((one) => one.prototype), 1e-9);
  return h(
    "div",
    {},
    h("h3", {}, t("change.words"), h("span", {}, t("change.distance"))),
    h(
      "ol",
      { class: "bars tall" },
      words.map((one) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "bar-name plain",
              "aria-pressed": String(one.word === chosen),
              "data-word": `changed ${one.word}`,
              onclick: () => {
                context.keepFocus();
                change({ changed: one.word });
              },
            },
            one.word,
          ),
          h(
            "span",
            { class: "bar" },
            h("i", { style: { width: `${(100 * one.prototype) / most}%` } }),
          ),
          h("span", { class: "bar-value" }, number(one.prototype)),
        ),
      ),
    ),
  );
}

function senses(found, word, before, after) {
  const bar = (name, share) => [
    h("span", { class: "bar-name" }, name),
    h("span", { class: "bar" }, h("i", { style: { width: `${100 * share}%` } })),
    h("span", { class: "bar-value" }, percent(share)),
  ];
  return h(
    "div",
    {},
    h("h3", {}, t("change.word", { word, before, after })),
    h("p", { class: "what" }, t("change.divergence", { bits: number(found.divergence) })),
    h(
      "ul",
      { class: "changed-senses" },
      found.senses.map((one) =>
        h(
          "li",
          {},
          h("b", {}, one.substitutes.slice(0, 4).join(", ") || one.name),
          one.keywords.length > 0 &&
            h(
              "span",
              { class: "note" },
              ` ${t("senses.keywords")}: ${one.keywords.slice(0, 5).join(", ")}`,
            ),
          h(
            "div",
            { class: "bars" },
            h("div", { class: "bar-row" }, bar(before, one.before)),
            h("div", { class: "bar-row" }, bar(after, one.after)),
          ),
          one.examples
            .slice(0, N_EXAMPLES)
            .map((example) => h("p", { class: "example" }, marked(example))),
        ),
      ),
    ),
  );
}
