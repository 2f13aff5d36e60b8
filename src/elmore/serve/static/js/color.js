// Colours: a sequential scale with even steps in lightness (OKLCH), and eight for senses.

function rgbOf(lightness, chroma, hue) {
  const angle = (hue * Math.PI) / 180;
  const a = chroma * Math.cos(angle);
  const b = chroma * Math.sin(angle);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((x) => Math.min(1, Math.max(0, x)));
}

const encoded = (x) =>
  Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));

const between = (from, to, t) => from + (to - from) * t;

function scaleOf(isDark) {
  return Array.from({ length: 101 }, (_, k) => {
    const t = k / 100;
    const lightness = isDark ? between(0.25, 0.92, t) : between(0.97, 0.33, t);
    const hue = isDark ? between(262, 98, t) : between(98, 262, t);
    const chroma = 0.02 + 0.1 * Math.sin(Math.PI * Math.min(1, 0.12 + 0.75 * t));
    const linear = rgbOf(lightness, chroma, hue);
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return {
      back: `rgb(${linear.map(encoded).join(" ")})`,
      front: luminance > 0.179 ? "#000000" : "#ffffff", // whichever has the more contrast
    };
  });
}

const SCALES = { light: scaleOf(false), dark: scaleOf(true) };

export const theme = () => document.documentElement.dataset.theme;

/** The colours of a share from 0 to 1. */
export function scaled(share) {
  return SCALES[theme()][Math.round(100 * Math.min(1, Math.max(0, share || 0)))];
}

export function paint(cell, share) {
  const { back, front } = scaled(share);
  cell.style.backgroundColor = back;
  cell.style.color = front;
}

/** Okabe and Ito's colours, which everyone can tell apart; the shapes say the same again. */
export const SENSES = [
  { color: "#0072b2", onDark: "#3b9fe0", shape: "circle" },
  { color: "#d55e00", onDark: "#f0803c", shape: "square" },
  { color: "#009e73", onDark: "#2cc79b", shape: "diamond" },
  { color: "#cc79a7", onDark: "#e29bc2", shape: "up" },
  { color: "#b87f00", onDark: "#e6ae2e", shape: "down" },
  { color: "#2a8fc4", onDark: "#8fd0f5", shape: "plus" },
  { color: "#4d4d4d", onDark: "#d8d8d8", shape: "cross" },
  { color: "#7d7d1f", onDark: "#c3c35a", shape: "star" },
];

export const senseStyle = (sense) => SENSES[sense % SENSES.length];
export const senseColor = (sense) =>
  theme() === "dark" ? senseStyle(sense).onDark : senseStyle(sense).color;
