// Tab 3: how surprising each word is from either side, and what was expected instead.

import { postFill, postGaps, postScores } from "./api.js";
import { paint } from "./color.js";
import { debounce, failure, h, number, percent, roving } from "./dom.js";
import { scaleKey } from "./heatmap.js";
import { examplesFor, t } from "./i18n.js";
import { change } from "./state.js";

const MOST_BITS = 16;
const N_WORDS = 8;
const GAP = "___";

export function expectationTab(panel, context) {
  const field = h("div", {});
  const found = h("div", { class: "results", "aria-busy": "true" });
  panel.append(h("p", { class: "lede" }, t("expectation.lede")), field, found);
  let fieldOf = null;
  let turn = 0;

  return async function update(said) {
    const model = context.model(said);
    const examples = examplesFor(model);
    const text = said.sentence ?? examples.expectation;
    if (fieldOf !== model.name) field.replaceChildren(sentenceField(text, examples));
    fieldOf = model.name;
    const input = field.querySelector("textarea");
    if (input !== document.activeElement) input.value = text;
    const mine = ++turn;
    if (!model.has_softmax) {
      found.replaceChildren(
        h("p", { class: "note" }, t("expectation.none", { model: model.name })),
      );
      return;
    }
    if (!text.trim()) {
      found.replaceChildren(h("p", { class: "note" }, t("sentences.empty")));
      return;
    }
    try {
      const scores = await postScores(
        model.name,
        text.includes(GAP) ? await postGaps(model.name, text) : text,
      );
      if (mine !== turn) return;
      const { tokens } = scores;
      const gap = tokens.indexOf(GAP);
      const asked =
        said.place ?? (gap >= 0 ? gap : said.sentence === undefined ? examples.place : 0);
      const place = Math.min(Math.max(Number.parseInt(asked, 10) || 0, 0), tokens.length - 1);
      const sides = await Promise.all(
        ["left", "right", "both"].map((side) => postFill(model.name, tokens, place, side, N_WORDS)),
      );
      if (mine !== turn) return;
      show(found, scores, place, sides, context);
      context.announce(
        t("said.expected", { word: tokens[place], words: sides[2].words.slice(0, 5).join(", ") }),
      );
    } catch (error) {
      if (mine === turn) found.replaceChildren(failure(error));
    }
    found.setAttribute("aria-busy", "false");
  };
}

function sentenceField(text, examples) {
  const field = h("textarea", {
    id: "expectation-text",
    class: "sentence",
    rows: 1,
    spellcheck: "false",
    autocomplete: "off",
    value: text,
    onkeydown: (event) => event.key === "Enter" && event.preventDefault(), // it is one line
    oninput: debounce(() => {
      const written = field.value.replace(/\s*\n\s*/g, " ");
      change({
        sentence: written === examples.expectation ? null : written || " ",
        place: null,
      });
    }, 350),
  });
  return h(
    "div",
    { class: "field" },
    h("label", { for: "expectation-text" }, t("expectation.label")),
    field,
  );
}

function show(root, scores, place, [left, right, both], context) {
  const { tokens } = scores;
  const bits = (logs) => logs.map((log) => Math.max(0, -log / Math.LN2));
  const [fromLeft, fromRight] = [bits(scores.forward), bits(scores.backward)];
  const choose = (k) => {
    context.keepFocus();
    change({ place: k });
  };
  const line = (name, what, surprisals, isForward) => {
    const row = h(
      "div",
      {
        class: `surprisals ${isForward ? "forward" : "backward"}`,
        role: "group",
        "aria-label": name,
      },
      tokens.map((token, k) => {
        const isGap = token === GAP;
        const value = isGap ? "?" : number(surprisals[k], 1);
        const chip = h(
          "button",
          {
            type: "button",
            class: isGap ? "word gap" : "word",
            "aria-pressed": String(k === place),
            "data-word": `${isForward}.${k}`,
            "aria-label": isGap
              ? GAP
              : t("expectation.bits", {
                  word: token,
                  left: number(fromLeft[k], 1),
                  right: number(fromRight[k], 1),
                }),
            title: scores.known[k] || isGap ? null : t("expectation.unknown"),
            onclick: () => choose(k),
          },
          h("span", { class: scores.known[k] || isGap ? null : "unknown" }, token),
          h("small", {}, value),
        );
        if (!isGap) paint(chip, surprisals[k] / MOST_BITS);
        return chip;
      }),
    );
    roving(row);
    return h(
      "div",
      { class: "reading-line" },
      h("h3", {}, isForward ? `${name} →` : `← ${name}`, h("span", {}, what)),
      row,
    );
  };
  const list = (name, filled) => {
    const most = filled.probabilities[0];
    return h(
      "section",
      {},
      h("h3", {}, name),
      h(
        "ol",
        { class: "bars" },
        filled.words.map((word, k) =>
          h(
            "li",
            { class: word === tokens[place] ? "is-word" : null },
            h("span", { class: "bar-name" }, word),
            h(
              "span",
              { class: "bar" },
              h("i", { style: { width: `${(100 * filled.probabilities[k]) / most}%` } }),
            ),
            h("span", { class: "bar-value" }, percent(filled.probabilities[k])),
          ),
        ),
      ),
    );
  };
  root.replaceChildren(
    h(
      "section",
      { "aria-label": t("expectation.scale") },
      h(
        "div",
        { class: "under-title" },
        h("p", { class: "what" }, t("expectation.what")),
        scaleKey("0", `${MOST_BITS}+`, t("expectation.scale")),
      ),
      line(t("expectation.left"), t("expectation.left.what"), fromLeft, true),
      line(t("expectation.right"), t("expectation.right.what"), fromRight, false),
    ),
    h(
      "section",
      { "aria-labelledby": "fill-title" },
      h(
        "h2",
        { id: "fill-title" },
        tokens[place] === GAP
          ? t("expectation.fill.gap")
          : t("expectation.fill.title", { word: tokens[place] }),
      ),
      h(
        "div",
        { class: "columns three" },
        list(t("expectation.fill.left"), left),
        list(t("expectation.fill.right"), right),
        list(t("expectation.fill.both"), both),
      ),
    ),
  );
}
