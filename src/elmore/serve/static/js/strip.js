// A vector as bars: one for each dimension, up or down from the middle.

import { h } from "./dom.js";

/** `draw(vector, most, parts)`: `most` is the number of a full bar, `parts` the colours in turn. */
export function strip(label) {
  const canvas = h("canvas", { class: "strip", role: "img", "aria-label": label });
  let last = null;

  function draw(vector, most, parts, name = null) {
    last = [vector, most, parts];
    if (name) canvas.setAttribute("aria-label", name);
    const { clientWidth: width, clientHeight: height } = canvas;
    if (!width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const style = getComputedStyle(canvas);
    const pen = canvas.getContext("2d");
    const middle = Math.round(canvas.height / 2);
    const step = canvas.width / vector.length;
    const bar = Math.max(1, Math.floor(step * 0.8));
    pen.fillStyle = style.getPropertyValue("--line");
    pen.fillRect(0, middle, canvas.width, 1);
    vector.forEach((value, k) => {
      const part = parts[Math.floor((k * parts.length) / vector.length)];
      const size = Math.max(-1, Math.min(1, value / most)) * (middle - 1);
      pen.fillStyle = style.getPropertyValue(part);
      pen.fillRect(Math.round(k * step), size > 0 ? middle - size : middle, bar, Math.abs(size));
    });
  }

  new ResizeObserver(() => last && draw(...last)).observe(canvas);
  return { element: canvas, draw };
}
