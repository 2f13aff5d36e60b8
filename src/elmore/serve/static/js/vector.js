// Tab 2: the paper's figure for one word. Everything is computed here, from POST /layers.

import { directions, getSentences } from "./api.js";
import { chips, chosenWord, textsOf } from "./chips.js";
import { failure, h, number } from "./dom.js";
import { readingFigure } from "./figure.js";
import { heatMap, scaleKey } from "./heatmap.js";
import { layerName, t } from "./i18n.js";
import { change } from "./state.js";
import { strip } from "./strip.js";
import { cosine, mix, norm, softmax } from "./vectors.js";

const TOKEN = "--token";
const parts = (layer) => (layer ? ["--forward", "--backward"] : [TOKEN]);
const LOWEST = -6; // of a weight; its softmax beside two zeros is 0.001

export function vectorTab(panel, context) {
  const found = h("div", { class: "results", "aria-busy": "true" });
  panel.append(h("p", { class: "lede" }, t("vector.lede")), found);
  let turn = 0;
  let shown = null;
  let key = null;

  return async function update(said) {
    const model = context.model(said);
    const { lines } = textsOf(said, model);
    const mine = ++turn;
    if (!lines.length) {
      found.replaceChildren(h("p", { class: "note" }, t("sentences.empty")));
      key = null;
      return;
    }
    try {
      const sentences = await getSentences(model.name, lines, model.n_layers);
      if (mine !== turn) return;
      const chosen = chosenWord(said, model, sentences);
      const newKey = JSON.stringify([model.name, lines, chosen]);
      if (newKey !== key) {
        shown?.close();
        shown = show(found, sentences, chosen, model, context);
        key = newKey;
      }
      shown.weigh(weightsOf(said, model.n_layers), gammaOf(said));
    } catch (error) {
      if (mine === turn) found.replaceChildren(failure(error));
      key = null;
    }
    found.setAttribute("aria-busy", "false");
  };
}

const within = (value, least, most) => Math.min(most, Math.max(least, value));

function weightsOf(said, nLayers) {
  const given = (said.weights ?? "").split(",").map(Number);
  return Array.from({ length: nLayers }, (_, j) => within(given[j] || 0, LOWEST, -LOWEST));
}

const gammaOf = (said) => within(Number(said.gamma) || 1, 0.1, 3);

function show(root, sentences, chosen, model, context) {
  const [s, place] = chosen;
  const sentence = sentences[s];
  const word = sentence.tokens[place];
  const layers = sentence.layers.map((layer) => layer[place]);
  const dim = layers[0].length;
  const half = dim / 2;
  const top = model.n_layers - 1;
  const downwards = Array.from({ length: model.n_layers }, (_, k) => top - k);
  const sizes = layers.flatMap((layer) => [...layer].map(Math.abs)).sort((a, b) => a - b);
  const most = sizes[Math.floor(0.98 * sizes.length)]; // a few outliers would flatten the rest
  let weights = Array(model.n_layers).fill(0);
  let gamma = 1;

  const choose = (newS, newPlace) => {
    context.keepFocus();
    change({ word: `${newS}.${newPlace}` });
  };
  const setWeights = (values) =>
    change({
      weights: values.every((w) => w === 0) ? null : values.map((w) => w.toFixed(1)).join(","),
    });

  const joined = downwards.map((layer) => {
    const pieces = directions(layer).map((name, side) => {
      const made = strip(name);
      const vector = sentence.representations[name][place];
      made.draw(
        vector,
        most,
        [layer ? ["--forward", "--backward"][side] : TOKEN],
        t("vector.bars", {
          name: `${layerName(layer)}, ${t(side ? "vector.backward" : "vector.forward")}`,
          dim: half,
          norm: number(norm(vector)),
        }),
      );
      return made.element;
    });
    return h(
      "div",
      { class: "join-row" },
      h("span", { class: "strip-name" }, layerName(layer)),
      h("div", { class: "halves" }, pieces),
    );
  });

  const weighed = downwards.map((layer) => {
    const id = `weight-${layer}`;
    const slider = h("input", {
      id,
      type: "range",
      min: LOWEST,
      max: -LOWEST,
      step: 0.1,
      value: 0,
      "aria-label": t("vector.weight", { n: layer }),
      oninput: () => setWeights(weights.map((w, j) => (j === layer ? Number(slider.value) : w))),
    });
    const share = h("output", { for: id, class: "share" });
    const bars = strip("");
    return {
      layer,
      slider,
      share,
      bars,
      element: h(
        "div",
        { class: "weigh-row" },
        h("span", { class: "strip-name", "aria-hidden": "true" }, "s", h("sub", {}, String(layer))),
        slider,
        share,
        bars.element,
      ),
    };
  });

  const sum = strip("");
  const result = strip("");
  const sumNorm = h("span", { class: "norm" });
  const resultNorm = h("span", { class: "norm" });
  const gammaValue = h("output", { for: "gamma", class: "share" });
  const slider = h("input", {
    id: "gamma",
    type: "range",
    min: 0.1,
    max: 3,
    step: 0.1,
    value: 1,
    "aria-label": t("vector.gamma"),
    oninput: () => change({ gamma: slider.value === "1" ? null : slider.value }),
  });
  const formula = h("p", { class: "formula" });

  const presets = [
    [t("vector.uniform"), weights],
    ...downwards
      .toReversed()
      .map((layer) => [
        t("vector.only", { n: layer }),
        weights.map((_, j) => (j === layer ? -LOWEST : LOWEST)),
      ]),
  ];

  let mixed = [];
  const map = heatMap({
    sentences,
    rows: [["elmo", t("vector.elmo")]],
    chosen,
    values: (_, otherS, otherPlace) =>
      mixed.length ? cosine(mixed[s][place], mixed[otherS][otherPlace]) : 0,
    choose,
  });

  const step = (n, name, values, ...content) =>
    h(
      "section",
      { class: "step", "aria-labelledby": `step-${n}` },
      h(
        "h2",
        { id: `step-${n}` },
        h("span", { class: "step-number", "aria-hidden": "true" }, String(n)),
        t(`vector.${name}.title`),
      ),
      h("p", { class: "what" }, t(`vector.${name}.what`, values)),
      ...content,
    );

  root.replaceChildren(
    chips(sentences, chosen, choose),
    h(
      "section",
      { class: "reads", "aria-labelledby": "reads-title" },
      h("h2", { id: "reads-title" }, t("vector.read.title")),
      h("p", { class: "what" }, t("vector.read.what", { word, layers: top })),
      readingFigure(sentence.tokens, place, model.n_layers),
    ),
    h(
      "div",
      { class: "steps" },
      step(
        1,
        "join",
        { half, dim },
        h(
          "div",
          { class: "halves-names", "aria-hidden": "true" },
          h("span", { class: "forward" }, t("vector.forward")),
          h("span", { class: "backward" }, t("vector.backward")),
        ),
        joined,
      ),
      step(
        2,
        "weigh",
        {},
        weighed.map((one) => one.element),
        h(
          "div",
          { class: "presets", role: "group", "aria-label": t("vector.presets") },
          presets.map(([name, values]) =>
            h(
              "button",
              { type: "button", class: "quiet", onclick: () => setWeights(values) },
              name,
            ),
          ),
        ),
      ),
      step(3, "add", { dim }, h("div", { class: "sum-row" }, sum.element, sumNorm)),
      step(
        4,
        "scale",
        {},
        h(
          "div",
          { class: "gamma-row" },
          h("span", { class: "strip-name", "aria-hidden": "true" }, "γ"),
          slider,
          gammaValue,
          result.element,
          resultNorm,
        ),
      ),
    ),
    formula,
    h(
      "section",
      { "aria-labelledby": "mixed-title" },
      h("h2", { id: "mixed-title" }, t("vector.heat.title")),
      h(
        "div",
        { class: "under-title" },
        h("p", { class: "what" }, t("vector.heat.what", { word, n: s + 1 })),
        scaleKey(t("heat.low"), t("heat.high")),
      ),
      map.element,
    ),
  );

  function weigh(newWeights, newGamma) {
    weights = newWeights;
    gamma = newGamma;
    const shares = softmax(weights);
    for (const { layer, slider: input, share, bars } of weighed) {
      if (document.activeElement !== input) input.value = weights[layer];
      share.textContent = number(shares[layer]);
      const vector = layers[layer].map((x) => x * shares[layer]);
      bars.draw(
        vector,
        most,
        parts(layer),
        t("vector.bars", {
          name: `s${layer} · ${layerName(layer)}`,
          dim,
          norm: number(norm(vector)),
        }),
      );
    }
    const added = mix(layers, shares);
    const scaledUp = added.map((x) => gamma * x);
    const colours = ["--forward", "--backward"];
    sum.draw(
      added,
      most,
      colours,
      t("vector.bars", { name: t("vector.sum"), dim, norm: number(norm(added)) }),
    );
    result.draw(
      scaledUp,
      most,
      colours,
      t("vector.bars", { name: t("vector.elmo"), dim, norm: number(norm(scaledUp)) }),
    );
    sumNorm.textContent = t("vector.norm", { norm: number(norm(added)) });
    resultNorm.textContent = t("vector.norm", { norm: number(norm(scaledUp)) });
    slider.value = gamma;
    gammaValue.textContent = number(gamma, 1);
    formula.replaceChildren(
      h("b", {}, "ELMo"),
      " = γ · (",
      ...shares.flatMap((_, j) => [
        j ? " + " : "",
        "s",
        h("sub", {}, String(j)),
        " · h",
        h("sub", {}, String(j)),
      ]),
      `) = ${number(gamma, 1)} · (`,
      ...shares.flatMap((share, j) => [
        j ? " + " : "",
        number(share),
        " · h",
        h("sub", {}, String(j)),
      ]),
      ")",
    );
    mixed = sentences.map((one) =>
      one.tokens.map((_, k) =>
        mix(
          one.layers.map((layer) => layer[k]),
          shares,
          gamma,
        ),
      ),
    );
    map.update();
  }
  return { weigh, close: map.close };
}
