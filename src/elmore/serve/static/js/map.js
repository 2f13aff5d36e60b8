// Thousands of points on a canvas: drawn from sprites, found through a grid, moved as pixels.

import { senseColor, senseStyle } from "./color.js";
import { h } from "./dom.js";
import { stampOf } from "./stamp.js";

const CELL = 24; // pixels of the grid that finds the point under the pointer
const REACH = 12;
const PADDING = 22;
const MOVE_MS = 700;
const SIZE = 5;
const MANY = 1000; // points, beyond which each is smaller

const calm = matchMedia("(prefers-reduced-motion: reduce)");

export function senseMap({ onHover, onSelect }) {
  const canvas = h("canvas", { class: "map", role: "img" });
  let points = []; // {x, y, sense}: where they are to be, from -1 to 1
  let places = new Float32Array(0); // where they are drawn, in pixels
  let from = null; // where they were when they began to move, and where they go
  let to = null;
  let selected = new Set();
  let only = null;
  let hovered = -1;
  let lasso = null;
  let grid = new Map();
  let frame = 0;
  let startedAt = 0;
  let sprites = []; // by sense and kind
  let stamps = []; // the same as pixels
  let moving = null; // what is seen while they move
  const still = document.createElement("canvas");
  let [width, height, ratio] = [0, 0, 1];

  function goal() {
    const found = new Float32Array(2 * points.length);
    points.forEach(({ x, y }, k) => {
      found[2 * k] = width / 2 + x * (width / 2 - PADDING);
      found[2 * k + 1] = height / 2 - y * (height / 2 - PADDING);
    });
    return found;
  }

  function settle() {
    places = goal();
    from = null;
    grid = new Map();
    for (let k = 0; k < points.length; k++) {
      const key = cellOf(places[2 * k], places[2 * k + 1]);
      if (!grid.has(key)) grid.set(key, []);
      grid.get(key).push(k);
    }
  }

  const cellOf = (x, y) => Math.floor(x / CELL) * 4096 + Math.floor(y / CELL);

  const sprite = (sense, kind) => {
    const made = (sprites[sense] ??= {});
    return (made[kind] ??= makeSprite(sense, kind, ratio * (points.length > MANY ? 0.8 : 1)));
  };

  const kindOf = (k) => {
    if (selected.size) return selected.has(k) ? "chosen" : "dim";
    return only === null || points[k].sense === only ? "plain" : "dim";
  };

  const stampFor = (sense, kind) => {
    const made = (stamps[sense] ??= {});
    const background = () => getComputedStyle(canvas).backgroundColor;
    return (made[kind] ??= stampOf(sprite(sense, kind), background(), canvas.width));
  };

  function forget() {
    sprites = [];
    stamps = [];
  }

  /** Paint all points, those that are meant over the dim ones. */
  function inOrder(paint) {
    const late = [];
    for (let k = 0; k < points.length; k++) {
      if (kindOf(k) === "dim") paint(k, "dim");
      else late.push(k);
    }
    const kind = selected.size ? "chosen" : "plain";
    for (const k of late) paint(k, kind);
  }

  /** All points, into a picture that stays as it is while the pointer moves over it. */
  function drawPoints() {
    still.width = canvas.width; // which empties it
    still.height = canvas.height;
    const pen = still.getContext("2d");
    inOrder((k, kind) => stamp(pen, k, kind));
  }

  /** All points on their way. */
  function drawMoving() {
    const { width: across, height: down } = canvas;
    if (moving?.width !== across || moving.height !== down) moving = new ImageData(across, down);
    const pixels = new Uint32Array(moving.data.buffer);
    pixels.fill(0);
    inOrder((k, kind) => {
      const { offsets, colors } = stampFor(points[k].sense, kind);
      const at = Math.round(places[2 * k + 1] * ratio) * across + Math.round(places[2 * k] * ratio);
      for (let i = 0; i < offsets.length; i++) pixels[at + offsets[i]] = colors[i];
    });
    canvas.getContext("2d").putImageData(moving, 0, 0);
  }

  function draw() {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, canvas.width, canvas.height);
    if (still.width && still.height) pen.drawImage(still, 0, 0);
    if (hovered >= 0) stamp(pen, hovered, "hovered");
    if (lasso) {
      const style = getComputedStyle(canvas);
      pen.beginPath();
      lasso.forEach(([x, y], k) => pen[k ? "lineTo" : "moveTo"](x * ratio, y * ratio));
      pen.closePath();
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.lineWidth = 1.5 * ratio;
      pen.stroke();
      pen.globalAlpha = 0.08;
      pen.fillStyle = style.getPropertyValue("--accent");
      pen.fill();
      pen.globalAlpha = 1;
    }
  }

  function stamp(pen, k, kind) {
    const image = sprite(points[k].sense, kind);
    pen.drawImage(
      image,
      Math.round(places[2 * k] * ratio - image.width / 2),
      Math.round(places[2 * k + 1] * ratio - image.height / 2),
    );
  }

  function animate(now) {
    const t = Math.min(1, (now - startedAt) / MOVE_MS);
    const eased = t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2;
    for (let k = 0; k < places.length; k++) places[k] = from[k] + (to[k] - from[k]) * eased;
    if (t < 1) {
      frame = requestAnimationFrame(animate);
      drawMoving();
    } else {
      settle();
      drawPoints();
      draw();
    }
  }

  function redraw() {
    if (from) return; // the animation draws
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  }

  function setPoints(newPoints) {
    cancelAnimationFrame(frame);
    const moves =
      newPoints.length === points.length && places.length > 0 && width > 0 && !calm.matches;
    points = newPoints;
    forget();
    hovered = -1;
    if (moves) {
      from = places.slice();
      to = goal();
      startedAt = performance.now();
      grid = new Map();
      frame = requestAnimationFrame(animate);
    } else {
      settle();
      drawPoints();
      redraw();
    }
  }

  function nearest(x, y) {
    let best = -1;
    let least = REACH ** 2;
    for (let dx = -1; dx <= 1; dx++) {
      for (let dy = -1; dy <= 1; dy++) {
        for (const k of grid.get(cellOf(x + dx * CELL, y + dy * CELL)) ?? []) {
          const distance = (places[2 * k] - x) ** 2 + (places[2 * k + 1] - y) ** 2;
          if (distance < least) [best, least] = [k, distance];
        }
      }
    }
    return best;
  }

  function hover(k) {
    if (k === hovered) return;
    hovered = k;
    canvas.style.cursor = k >= 0 ? "pointer" : "crosshair";
    onHover(k, k >= 0 ? [places[2 * k], places[2 * k + 1]] : null);
    redraw();
  }

  canvas.addEventListener("pointermove", (event) => {
    const at = [event.offsetX, event.offsetY];
    if (!lasso) {
      hover(nearest(...at));
      return;
    }
    lasso.push(at);
    hover(-1);
    redraw();
  });
  canvas.addEventListener("pointerleave", () => !lasso && hover(-1));
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return; // a finger scrolls
    canvas.setPointerCapture(event.pointerId);
    lasso = [[event.offsetX, event.offsetY]];
  });
  canvas.addEventListener("pointerup", (event) => {
    const line = lasso ?? [];
    lasso = null;
    const far = line.some(([x, y]) => Math.hypot(x - line[0][0], y - line[0][1]) > 6);
    if (far) {
      onSelect(
        points.map((_, k) => k).filter((k) => isInside(places[2 * k], places[2 * k + 1], line)),
      );
    } else {
      const k = nearest(event.offsetX, event.offsetY);
      hover(k);
      onSelect(k >= 0 ? [k] : []);
    }
    redraw();
  });
  canvas.addEventListener("pointercancel", () => {
    lasso = null;
    redraw();
  });

  new ResizeObserver(() => {
    [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, devicePixelRatio || 1];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    forget();
    if (!width) return;
    cancelAnimationFrame(frame);
    settle();
    drawPoints();
    draw();
  }).observe(canvas);

  return {
    element: canvas,
    setPoints,
    /** Which are shown as chosen; without any, those of one sense (null: all). */
    show(chosen, sense) {
      selected = new Set(chosen);
      only = sense;
      if (from) return; // the animation draws
      drawPoints();
      redraw();
    },
    point: (k) => hover(k),
  };
}

function isInside(x, y, line) {
  let inside = false;
  for (let k = 0, last = line.length - 1; k < line.length; last = k++) {
    const [x1, y1] = line[k];
    const [x2, y2] = line[last];
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) inside = !inside;
  }
  return inside;
}

function makeSprite(sense, kind, ratio) {
  const scale = { dim: 0.8, plain: 1, chosen: 1.25, hovered: 1.8 }[kind];
  const size = Math.ceil((2 * SIZE * scale + 4) * ratio);
  const canvas = new OffscreenCanvas(size, size);
  const pen = canvas.getContext("2d");
  pen.translate(size / 2, size / 2);
  pen.scale(ratio * scale, ratio * scale);
  pen.globalAlpha = kind === "dim" ? 0.18 : 0.85;
  pen.fillStyle = senseColor(sense);
  const outline = new Path2D(shapePath(senseStyle(sense).shape));
  pen.fill(outline);
  if (kind !== "dim") {
    pen.globalAlpha = 1;
    pen.lineWidth = kind === "plain" ? 0.8 : 1.2;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue(
      kind === "plain" ? "--paper" : "--ink",
    );
    pen.stroke(outline);
  }
  return canvas.transferToImageBitmap(); // drawn faster than a canvas
}

/** An outline about the origin, as an SVG path. */
export function shapePath(shape) {
  return {
    circle: "M-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0 -9.2 0Z",
    square: "M-4 -4H4V4H-4Z",
    diamond: "M0 -5.4L5.4 0L0 5.4L-5.4 0Z",
    up: "M0 -5L5 4H-5Z",
    down: "M0 5L5 -4H-5Z",
    plus: "M-1.7 -5H1.7V-1.7H5V1.7H1.7V5H-1.7V1.7H-5V-1.7H-1.7Z",
    cross: "M-2.7 -5L0 -2.4L2.7 -5L5 -2.7L2.4 0L5 2.7L2.7 5L0 2.4L-2.7 5L-5 2.7L-2.4 0L-5 -2.7Z",
    star: "M0 -5.6L1.5 -1.9L5.4 -1.7L2.4 0.8L3.4 4.6L0 2.4L-3.4 4.6L-2.4 0.8L-5.4 -1.7L-1.5 -1.9Z",
  }[shape];
}
