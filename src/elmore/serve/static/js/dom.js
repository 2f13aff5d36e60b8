// Elements, and what every part of the page does with them.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat()
      .filter((child) => child !== null && child !== undefined && child !== false && child !== ""),
  );
  return element;
}

export const h = (tag, properties, ...children) =>
  fill(document.createElement(tag), properties, children);

export const svg = (tag, properties, ...children) =>
  fill(document.createElementNS(SVG, tag), properties, children);

/** One stop for the Tab key in a group of buttons; the arrow keys move inside it. */
export function roving(group, { activate = false } = {}) {
  const buttons = () => [...group.querySelectorAll("button")];
  const reset = () => {
    const all = buttons();
    const chosen = all.find(isChosen) ?? all[0];
    for (const one of all) one.tabIndex = one === chosen ? 0 : -1;
  };
  group.addEventListener("keydown", (event) => {
    const all = buttons();
    const at = all.indexOf(document.activeElement);
    const to = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: all.length - 1,
    }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    for (const one of all) one.tabIndex = one === next ? 0 : -1;
    next.focus();
    if (activate) next.click();
  });
  reset();
  return reset;
}

const isChosen = (button) =>
  ["aria-pressed", "aria-selected", "aria-checked"].some(
    (name) => button.getAttribute(name) === "true",
  );

/** A choice of one among a few, as buttons in a row. */
export function segmented(label, options, chosen, choose) {
  const group = h("div", { class: "segmented", role: "radiogroup", "aria-label": label });
  for (const [value, text] of options) {
    group.append(
      h(
        "button",
        {
          type: "button",
          role: "radio",
          "aria-checked": String(value === chosen),
          "data-value": value,
          onclick: () => choose(value),
        },
        text,
      ),
    );
  }
  roving(group, { activate: true });
  return group;
}

/** A text of the server with one of its words marked; its span counts code points. */
export function marked({ text, span: [start, end] }) {
  const letters = Array.from(text);
  const part = (first, last) => letters.slice(first, last).join("");
  return [part(0, start), h("mark", {}, part(start, end)), part(end)];
}

export const debounce = (work, delay) => {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), delay);
  };
};

/** Shows why something failed, in the server's own sentence. */
export function failure(error) {
  return h("p", { class: "failure", role: "alert" }, error.message);
}

export function number(value, digits = 2) {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
}

export const percent = (share) =>
  share >= 0.1 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toFixed(1)} %`;
