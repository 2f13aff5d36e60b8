// What the page says, in the language that was chosen; the words are in i18n-en.js and i18n-ko.js.

import * as en from "./i18n-en.js";
import * as ko from "./i18n-ko.js";

const WORDS = { en, ko };

export const LANGUAGES = { en: "English", ko: "한국어" };

let language = "en";

export function setLanguage(name) {
  language = name;
  document.documentElement.lang = name;
}

export const currentLanguage = () => language;

export function t(key, values = {}) {
  return WORDS[language].TEXTS[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

export function layerName(layer) {
  return typeof layer === "number"
    ? t(layer ? "layer.n" : "layer.0", { n: layer })
    : t(`layer.${layer}`);
}

/** Sentences to begin with, in the language that a model reads. */
export const examplesFor = (model) => (model?.tokenizer === "korean" ? ko : en).EXAMPLES;
