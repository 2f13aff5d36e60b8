// What the page asks its server. Nothing else is ever asked.

import { t } from "./i18n.js";

const MAX_TRIES = 10;
const KEY = "elmore-api-key"; // for this browser tab alone: a key has no place in an address

let askForKey = async () => null;

/** `ask` is called when the server wants an API key, and gives one, or null. */
export function onKeyWanted(ask) {
  askForKey = ask;
}

async function request(path, body) {
  const key = sessionStorage.getItem(KEY);
  const headers = {
    ...(body && { "Content-Type": "application/json" }),
    ...(key && { Authorization: `Bearer ${key}` }),
  };
  const method = body ? "POST" : "GET";
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) }).catch(
    () => {
      throw new Error(t("offline"));
    },
  );
  const content = await answer.json();
  if (answer.status === 401) {
    const given = await askForKey(content.error);
    if (given) {
      sessionStorage.setItem(KEY, given);
      return request(path, body);
    }
  }
  if (!answer.ok) throw Object.assign(new Error(content.error), { status: answer.status });
  return content;
}

const kept = new Map();

/** The same question is asked once. */
function once(path, body) {
  const key = path + JSON.stringify(body ?? null);
  if (!kept.has(key)) {
    if (kept.size > 200) kept.delete(kept.keys().next().value);
    const found = request(path, body);
    kept.set(key, found);
    found.catch(() => kept.delete(key));
  }
  return kept.get(key);
}

/** A map of thousands of points may outlast a request; the server completes and caches it. */
async function patiently(path) {
  for (let tries = 1; ; tries++) {
    try {
      return await once(path);
    } catch (error) {
      if (error.status !== 503 || tries === MAX_TRIES) throw error;
    }
  }
}

const path = (...parts) => parts.map(encodeURIComponent).join("/");

export const getModels = async () => (await request("models")).models;
export const getIndexes = async () => (await request("indexes")).indexes;
export const getTasks = async () => (await request("tasks")).tasks;

export const postScores = async (model, text) =>
  (await once("scores", { model, texts: [text] })).results[0];
/** The tokens of a text with gaps, each gap one token. */
export const postGaps = async (model, text) =>
  (await once("fill", { model, texts: [text], n: 1 })).results[0].tokens;
export const postFill = async (model, tokens, place, sides, n) =>
  (await once("fill", { model, texts: [tokens], word: place, sides, n })).results[0];
export const postPredict = async (task, text) =>
  (await once(path("predict", task), { texts: [text], probabilities: true })).results[0];

export const getMap = (index, word, layer, method) =>
  patiently(`${path("map", index, word)}?layer=${layer}&method=${method}&max_occurrences=5000`);
export const getChanges = async (before, after) =>
  (await once(`${path("change", before, after)}?n=40`)).words;
export const getChange = (before, after, word) => once(path("change", before, after, word));

function floats(base64, dim) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const all = new Float32Array(bytes.buffer);
  return Array.from({ length: all.length / dim }, (_, k) => all.subarray(k * dim, (k + 1) * dim));
}

/**
 * The sentences with all that the model says of them: for each its tokens and their spans in the
 * text, `representations` by name ("token", "forward 1", …), `layers` (the two directions joined) and `expected`, each a list
 * of vectors.
 */
export async function getSentences(model, texts, nLayers) {
  const asked = { model, texts, encoding: "base64" };
  const [layered, expected] = await Promise.all([
    once("layers", asked),
    once("embed", { ...asked, layers: "expected" }),
  ]);
  return layered.results.map((text, k) => {
    const half = text.shape[1];
    const representations = Object.fromEntries(
      Object.entries(text.representations).map(([name, values]) => [name, floats(values, half)]),
    );
    const layers = Array.from({ length: nLayers }, (_, layer) =>
      text.tokens.map((_, place) => {
        const [left, right] = directions(layer).map((name) => representations[name][place]);
        const joined = new Float32Array(2 * half);
        joined.set(left);
        joined.set(right, half);
        return joined;
      }),
    );
    const found = expected.results[k];
    return {
      text: texts[k],
      tokens: text.tokens,
      spans: text.spans,
      representations,
      layers,
      expected: floats(found.vectors, found.shape[1]),
    };
  });
}

/** The names of the two halves of a layer. */
export const directions = (layer) =>
  layer === 0 ? ["token", "token"] : [`forward ${layer}`, `backward ${layer}`];
