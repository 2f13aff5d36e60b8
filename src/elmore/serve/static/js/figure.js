// The biLM over a sentence: two stacks of LSTM layers that read towards each other.

import { h, svg } from "./dom.js";
import { layerName, t } from "./i18n.js";

const MAX_WORDS = matchMedia("(max-width: 720px)").matches ? 5 : 7;
const [COLUMN, ROW, WIDTH, HEIGHT] = [62, 44, 42, 18];
const MARGIN = 46; // of the names of the layers

/** Both directions for a window of words around the chosen one. */
export function readingFigure(tokens, place, nLayers) {
  const first = Math.max(0, Math.min(place - Math.floor(MAX_WORDS / 2), tokens.length - MAX_WORDS));
  const shown = tokens.slice(first, first + MAX_WORDS);
  const direction = (name, isForward) =>
    h(
      "figure",
      { class: `reading ${isForward ? "forward" : "backward"}` },
      h("figcaption", {}, isForward ? `${t(name)} →` : `← ${t(name)}`),
      network(shown, place - first, nLayers, isForward, t(name)),
    );
  return h(
    "div",
    { class: "readings" },
    direction("vector.forward", true),
    direction("vector.backward", false),
  );
}

function network(words, chosen, nLayers, isForward, label) {
  const height = ROW * nLayers + 22;
  const root = svg("svg", {
    viewBox: `${-MARGIN} 0 ${MARGIN + COLUMN * words.length} ${height}`,
    role: "img",
    "aria-label": `${label}: ${words.join(" ")}`,
  });
  const x = (k) => COLUMN * k + COLUMN / 2;
  const y = (layer) => ROW * (nLayers - 1 - layer) + HEIGHT / 2 + 6;
  const isRead = (k) => (isForward ? k <= chosen : k >= chosen);
  for (let layer = 0; layer < nLayers; layer++)
    root.append(svg("text", { x: 0, y: y(layer) + 4, class: "layer" }, layerName(layer)));
  words.forEach((word, k) => {
    for (let layer = 0; layer < nLayers; layer++) {
      const kind = k === chosen ? "chosen" : isRead(k) ? "read" : "unread";
      if (layer > 0) {
        root.append(arrow(x(k), y(layer - 1) - HEIGHT / 2, x(k), y(layer) + HEIGHT / 2, kind));
        const from = isForward ? k - 1 : k + 1;
        if (words[from] !== undefined) {
          const side = isForward ? WIDTH / 2 : -WIDTH / 2;
          root.append(
            arrow(x(from) + side, y(layer), x(k) - side, y(layer), isRead(k) ? "read" : "unread"),
          );
        }
      }
      root.append(
        svg("rect", {
          x: x(k) - WIDTH / 2,
          y: y(layer) - HEIGHT / 2,
          width: WIDTH,
          height: HEIGHT,
          rx: 5,
          class: `${layer ? "lstm" : "token"} ${kind}`,
        }),
      );
    }
    const text = word.length > 8 ? `${word.slice(0, 7)}…` : word;
    root.append(
      svg(
        "text",
        { x: x(k), y: height - 6, class: k === chosen ? "chosen" : isRead(k) ? "read" : "unread" },
        text,
      ),
    );
  });
  return root;
}

function arrow(x1, y1, x2, y2, kind) {
  const [dx, dy] = [Math.sign(x2 - x1), Math.sign(y2 - y1)];
  const tip = dx
    ? `M${x2 - 5 * dx} ${y2 - 3.5}L${x2 - dx} ${y2}L${x2 - 5 * dx} ${y2 + 3.5}`
    : `M${x2 - 3.5} ${y2 - 5 * dy}L${x2} ${y2 - dy}L${x2 + 3.5} ${y2 - 5 * dy}`;
  return svg("path", { d: `M${x1} ${y1}L${x2 - dx} ${y2 - dy}${tip}`, class: `arrow ${kind}` });
}
