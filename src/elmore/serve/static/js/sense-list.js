// The senses of a word in a legend, and its sentences in a list: all that the map shows, in words.

import { senseColor, senseStyle } from "./color.js";
import { h, marked, svg } from "./dom.js";
import { t } from "./i18n.js";
import { shapePath } from "./map.js";
import { change } from "./state.js";

export const symbol = (sense) =>
  svg(
    "svg",
    { viewBox: "-7 -7 14 14", class: "symbol", "aria-hidden": "true" },
    svg("path", { d: shapePath(senseStyle(sense).shape), fill: senseColor(sense) }),
  );

/** `sense` and `chosen` are what is selected: a sense or null, and points. */
export function senseLegend(context, index, { points, senses, word }, sense, chosen) {
  const counts = senses.map((_, number) => points.filter((one) => one.sense === number).length);
  return [
    h("h2", {}, t("senses.legend")),
    h(
      "ul",
      {},
      senses.map((one, number) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "sense",
              "aria-pressed": String(number === sense),
              "data-word": `sense ${number}`,
              onclick: () => {
                context.keepFocus();
                change({ sense: number === sense ? null : number, points: null });
              },
            },
            symbol(number),
            h(
              "span",
              { class: "sense-words" },
              h("b", {}, one.substitutes.slice(0, 4).join(", ") || one.name),
              one.keywords.length > 0 &&
                h("span", {}, `${t("senses.keywords")}: ${one.keywords.slice(0, 5).join(", ")}`),
              h("small", {}, t("senses.count", { n: counts[number], all: points.length })),
            ),
          ),
        ),
      ),
    ),
    ...(senses.length === 1 ? [h("p", { class: "note" }, t("senses.one", { word }))] : []),
    ...(sense !== null || chosen.length
      ? [
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              onclick: () => change({ sense: null, points: null }),
            },
            t("senses.all"),
          ),
        ]
      : []),
    h("p", { class: "source" }, t("senses.source", { source: index.corpus.join(", ") })),
  ];
}

/** `on` has point(k), select(rows) and showMore(n). */
export function sentenceList(
  context,
  { points },
  sense,
  chosen,
  nListed,
  { point, select, showMore },
) {
  const rows = chosen.length
    ? chosen
    : points.map((_, k) => k).filter((k) => sense === null || points[k].sense === sense);
  return [
    h(
      "h2",
      {},
      `${t(chosen.length || sense !== null ? "senses.list.selected" : "senses.list")} (${rows.length})`,
    ),
    h(
      "ul",
      { class: "sentences" },
      rows.slice(0, nListed).map((k) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "plain",
              "data-word": `point ${k}`,
              "aria-pressed": String(chosen.includes(k)),
              onfocus: () => point(k),
              onblur: () => point(-1),
              onpointerenter: () => point(k),
              onpointerleave: () => point(-1),
              onclick: () => {
                context.keepFocus();
                select([k]);
              },
            },
            symbol(points[k].sense),
            h("span", {}, marked(points[k])),
          ),
        ),
      ),
    ),
    ...(rows.length > nListed
      ? [
          h(
            "button",
            {
              type: "button",
              class: "quiet",
              onclick: () => showMore(5 * nListed),
            },
            t("senses.more", { n: Math.min(4 * nListed, rows.length - nListed) }),
          ),
        ]
      : []),
  ];
}
