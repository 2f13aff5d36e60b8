// A table of cosines for each sentence: its words, and one or more rows of numbers about them.

import { paint, scaled } from "./color.js";
import { h, number } from "./dom.js";
import { t } from "./i18n.js";

const narrow = matchMedia("(max-width: 720px)");

/**
 * sentences: [{tokens}]; rows: [[key, name]]; chosen: [sentence, place].
 * values(row key, sentence, place) gives a number, at most 1.
 * Returned: the element, and `update()`, which reads the values again.
 */
export function heatMap({ sentences, rows, chosen, values, choose }) {
  const root = h("div", { class: "heat" });
  let cells = [];

  function build() {
    cells = [];
    root.replaceChildren(...sentences.map((sentence, s) => block(sentence, s)));
    update();
  }

  function block({ tokens }, s) {
    const isChosen = (place) => s === chosen[0] && place === chosen[1];
    const cell = (key, place) => {
      const made = h("td", { class: isChosen(place) ? "chosen" : null });
      cells.push([made, key, s, place]);
      return made;
    };
    const word = (place, scope) =>
      h(
        "th",
        { scope, class: isChosen(place) ? "chosen" : null },
        h(
          "button",
          { type: "button", tabindex: -1, onclick: () => choose(s, place) },
          tokens[place],
        ),
      );
    const places = tokens.map((_, place) => place);
    if (narrow.matches && rows.length === 1) return flow(tokens, s, isChosen);
    const table = narrow.matches
      ? h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              corner("heat.word"),
              rows.map(([, name]) => h("th", { scope: "col" }, name)),
            ),
          ),
          h(
            "tbody",
            {},
            places.map((place) =>
              h(
                "tr",
                {},
                word(place, "row"),
                rows.map(([key]) => cell(key, place)),
              ),
            ),
          ),
        )
      : h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              corner("heat.layer"),
              places.map((place) => word(place, "col")),
            ),
          ),
          h(
            "tbody",
            {},
            rows.map(([key, name]) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, name),
                places.map((place) => cell(key, place)),
              ),
            ),
          ),
        );
    return h(
      "div",
      {
        class: "heat-block",
        role: "region",
        tabindex: 0,
        "aria-label": t("heat.region", { n: s + 1 }),
      },
      h("p", { class: "heat-caption" }, t("sentences.sentence", { n: s + 1 })),
      table,
    );
  }

  /** One row of numbers needs no table: where there is little room, words wrap. */
  function flow(tokens, s, isChosen) {
    return h(
      "div",
      { class: "heat-block", role: "group", "aria-label": t("heat.region", { n: s + 1 }) },
      h("p", { class: "heat-caption" }, t("sentences.sentence", { n: s + 1 })),
      h(
        "div",
        { class: "surprisals" },
        tokens.map((token, place) => {
          const value = h("small", {});
          const word = h(
            "button",
            {
              type: "button",
              class: "word",
              tabindex: -1,
              "aria-pressed": String(isChosen(place)),
              onclick: () => choose(s, place),
            },
            h("span", {}, token),
            value,
          );
          cells.push([value, rows[0][0], s, place, word]);
          return word;
        }),
      ),
    );
  }

  function update() {
    for (const [cell, key, s, place, painted = cell] of cells) {
      const value = values(key, s, place);
      cell.textContent = number(value);
      paint(painted, value);
    }
  }

  build();
  narrow.addEventListener("change", build);
  return { element: root, update, close: () => narrow.removeEventListener("change", build) };
}

const corner = (key) =>
  h("th", { scope: "col", class: "corner" }, h("span", { class: "hidden" }, t(key)));

/** What the colours mean. */
export function scaleKey(low, high, label = null) {
  const steps = Array.from({ length: 12 }, (_, k) => {
    const step = h("i", {});
    step.style.backgroundColor = scaled(k / 11).back;
    return step;
  });
  return h(
    "p",
    { class: "scale-key" },
    label && h("span", { class: "scale-label" }, label),
    h("span", {}, low),
    h("span", { class: "scale-steps", "aria-hidden": "true" }, steps),
    h("span", {}, high),
  );
}
