// The frame of the page: header, tabs, language, theme; each tab draws itself from the address.

import { getIndexes, getModels, getTasks, onKeyWanted } from "./api.js";
import { failure, h, roving, segmented } from "./dom.js";
import { expectationTab } from "./expectation.js";
import { LANGUAGES, currentLanguage, setLanguage, t } from "./i18n.js";
import { sensesTab } from "./senses.js";
import { sentencesTab } from "./sentences.js";
import { change, onChange, state } from "./state.js";
import { tasksTab } from "./tasks.js";
import { vectorTab } from "./vector.js";

const TABS = {
  sentences: sentencesTab,
  vector: vectorTab,
  expectation: expectationTab,
  senses: sensesTab,
  tasks: tasksTab,
};
const HAS_MODEL = ["sentences", "vector", "expectation"];

const live = document.getElementById("live");
const header = document.getElementById("header");
const main = document.getElementById("main");
const footer = document.getElementById("footer");
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

let focus = null;
const context = {
  models: [],
  indexes: [],
  tasks: [],
  /** The model of an address; without one, the first that reads the language of the page. */
  model: (said) =>
    context.models.find((one) => one.name === said.model) ??
    context.models.find((one) => (one.tokenizer === "korean") === (currentLanguage() === "ko")) ??
    context.models[0],
  announce: (text) => {
    live.textContent = text;
  },
  /** What is drawn again gets the focus again. */
  keepFocus: () => {
    const active = document.activeElement;
    const name = ["data-word", "data-value"].find((one) => active?.hasAttribute(one));
    const group = active?.closest("[role=group], [role=radiogroup]")?.getAttribute("aria-label");
    focus = name ? { name, value: active.getAttribute(name), group } : null;
  },
  restoreFocus: () => {
    if (!focus || (document.activeElement && document.activeElement !== document.body)) return;
    const { name, value, group } = focus;
    const found = [...main.querySelectorAll(`button[${name}]`)].find(
      (one) =>
        one.getAttribute(name) === value &&
        (group === undefined ||
          one.closest("[role=group], [role=radiogroup]")?.getAttribute("aria-label") === group),
    );
    found?.focus();
  },
};

const tabOf = (said) => (said.tab in TABS ? said.tab : "sentences");

const languageOf = (said) =>
  said.lang in LANGUAGES ? said.lang : navigator.language.startsWith("ko") ? "ko" : "en";

const themeOf = (said) =>
  ["light", "dark"].includes(said.theme) ? said.theme : prefersDark.matches ? "dark" : "light";

let panels = new Map();
let drawn = null; // the language and theme of what is shown

function frame(said) {
  const language = languageOf(said);
  setLanguage(language);
  document.title = `elmore · ${t("tagline")}`;
  header.replaceChildren(
    h(
      "a",
      {
        class: "skip",
        href: "#main",
        onclick: (event) => {
          event.preventDefault();
          main.focus();
        },
      },
      t("skip"),
    ),
    h("div", { class: "brand" }, h("h1", {}, "elmore"), h("p", {}, t("tagline"))),
    h(
      "div",
      { class: "switches" },
      segmented(t("language"), Object.entries(LANGUAGES), language, (lang) => change({ lang })),
      h(
        "button",
        {
          type: "button",
          class: "theme",
          "aria-label": t("theme"),
          onclick: () => change({ theme: themeOf(state()) === "dark" ? "light" : "dark" }),
        },
        "◐",
      ),
    ),
  );
  const list = h(
    "div",
    { role: "tablist", "aria-label": t("tabs"), class: "tabs" },
    Object.keys(TABS).map((name) =>
      h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${name}`,
          "aria-controls": `panel-${name}`,
          "aria-selected": "false",
          "data-tab": name,
          onclick: () => change({ tab: name }, { isStep: true }),
        },
        t(`tab.${name}`),
      ),
    ),
  );
  const models = h(
    "div",
    { id: "models", class: "field inline models" },
    h("label", { for: "model" }, t("model")),
    h(
      "select",
      {
        id: "model",
        onchange: (event) =>
          change({
            model: event.target.value,
            text: null,
            word: null,
            sentence: null,
            place: null,
          }),
      },
      context.models.map((one) => h("option", { value: one.name }, one.name)),
    ),
  );
  main.replaceChildren(
    h("div", { class: "tab-line" }, list, models),
    ...Object.keys(TABS).map((name) =>
      h("div", {
        role: "tabpanel",
        id: `panel-${name}`,
        "aria-labelledby": `tab-${name}`,
        tabindex: -1,
        hidden: true,
      }),
    ),
  );
  resetTabs = roving(list, { activate: true });
  footer.replaceChildren(
    h("p", {}, t("footer")),
    h("p", {}, h("a", { href: "openapi.json" }, t("api"))),
  );
}

/** Colours and words are drawn into the panels, so another theme or language empties them. */
function emptyPanels() {
  panels = new Map();
  for (const name of Object.keys(TABS)) document.getElementById(`panel-${name}`).replaceChildren();
}

let resetTabs = () => {};

async function draw() {
  const said = state();
  const theme = themeOf(said);
  document.documentElement.dataset.theme = theme;
  const look = `${languageOf(said)} ${theme}`;
  if (languageOf(said) !== currentLanguage() || !drawn) {
    const hadFocus = header.contains(document.activeElement);
    frame(said);
    if (hadFocus) header.querySelector("[aria-checked=true]").focus();
  }
  if (look !== drawn) emptyPanels();
  drawn = look;
  const current = tabOf(said);
  for (const name of Object.keys(TABS)) {
    document.getElementById(`tab-${name}`).setAttribute("aria-selected", String(name === current));
    document.getElementById(`panel-${name}`).hidden = name !== current;
  }
  resetTabs();
  const tab = document.getElementById(`tab-${current}`);
  tab.parentElement.scrollLeft =
    tab.offsetLeft - (tab.parentElement.clientWidth - tab.offsetWidth) / 2;
  document.getElementById("models").hidden =
    !HAS_MODEL.includes(current) || context.models.length < 2;
  document.getElementById("model").value = context.model(said).name;
  if (!panels.has(current))
    panels.set(current, TABS[current](document.getElementById(`panel-${current}`), context));
  await panels.get(current)(said);
  context.restoreFocus();
}

function askForKey(sentence) {
  return new Promise((resolve) => {
    const field = h("input", { id: "key", type: "password", autocomplete: "off" });
    const dialog = h(
      "dialog",
      { "aria-labelledby": "key-title" },
      h(
        "form",
        { method: "dialog" },
        h("h2", { id: "key-title" }, t("key.title")),
        h("p", { class: "what" }, sentence),
        h("div", { class: "field" }, h("label", { for: "key" }, t("key.label")), field),
        h("button", { class: "quiet" }, t("key.ok")),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(field.value || null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function start() {
  document.documentElement.dataset.theme = themeOf(state());
  setLanguage(languageOf(state()));
  onKeyWanted(askForKey);
  try {
    context.models = await getModels(); // alone: a key is asked for once
    [context.indexes, context.tasks] = await Promise.all([getIndexes(), getTasks()]);
  } catch (error) {
    main.replaceChildren(failure(error));
    return;
  }
  onChange(draw);
  prefersDark.addEventListener("change", draw);
  await draw();
}

start();
