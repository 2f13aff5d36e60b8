// Tab 5: what a trained task says of a text: tags in place, or the probability of each label.

import { postPredict } from "./api.js";
import { SENSES, theme } from "./color.js";
import { debounce, failure, h, percent, roving } from "./dom.js";
import { examplesFor, t } from "./i18n.js";
import { change } from "./state.js";

const HOW = [
  "elmore train classify --train reviews.tsv --out sentiment",
  "elmore train tag --train names.conll --out ner",
  "elmore serve --task sentiment=sentiment --task ner=ner",
].join("\n");

export function tasksTab(panel, context) {
  panel.append(h("p", { class: "lede" }, t("tasks.lede")));
  if (!context.tasks.length) {
    panel.append(
      h("p", {}, t("tasks.none")),
      h("p", { class: "what" }, t("tasks.none.how")),
      h("pre", { tabindex: 0 }, HOW),
    );
    return () => {};
  }
  const form = h("div", {});
  const found = h("div", { class: "results", "aria-busy": "true" });
  panel.append(form, found);
  let formOf = null;
  let turn = 0;

  return async function update(said) {
    const task = taskOf(said, context);
    const examples = examplesFor(context.models.find((one) => one.name === task.model));
    const text = said.input ?? examples.task;
    const second = said.second ?? text;
    if (formOf !== task.name) {
      form.replaceChildren(formFor(task, text, second, context));
      formOf = task.name;
    }
    for (const [id, value] of [
      ["task-text", text],
      ["task-second", second],
    ]) {
      const input = document.getElementById(id);
      if (input && input !== document.activeElement) input.value = value;
    }
    const mine = ++turn;
    if (!text.trim()) {
      found.replaceChildren(h("p", { class: "note" }, t("sentences.empty")));
      return;
    }
    try {
      const place = Number.parseInt(said.predicate, 10) || 0;
      const input =
        task.kind === "pair"
          ? [text, second]
          : task.needs_predicate
            ? { text, predicate: place }
            : text;
      const answer = await postPredict(task.name, input);
      if (mine !== turn) return;
      found.replaceChildren(
        task.kind === "tag" ? tags(answer, task, said, context) : labels(answer),
      );
    } catch (error) {
      if (mine === turn) found.replaceChildren(failure(error));
    }
    found.setAttribute("aria-busy", "false");
  };
}

/** The task of an address; without one, the first that reads the language of the page. */
function taskOf(said, context) {
  const { tasks } = context;
  const { name } = context.model({});
  return (
    tasks.find((one) => one.name === said.task) ??
    tasks.find((one) => one.model === name) ??
    tasks[0]
  );
}

function formFor(task, text, second, context) {
  const area = (id, label, value, name) => {
    const field = h("textarea", {
      id,
      rows: 2,
      value,
      oninput: debounce(
        () => change({ [name]: field.value || " ", predicate: null, place: null }),
        350,
      ),
    });
    return h("div", { class: "field" }, h("label", { for: id }, label), field);
  };
  return h(
    "div",
    {},
    h(
      "div",
      { class: "toolbar" },
      h(
        "div",
        { class: "field inline" },
        h("label", { for: "task-name" }, t("tasks.task")),
        h(
          "select",
          {
            id: "task-name",
            onchange: (event) => change({ task: event.target.value, predicate: null, place: null }),
          },
          context.tasks.map((one) =>
            h(
              "option",
              { value: one.name, selected: one === task },
              `${one.name} · ${t(`kind.${one.kind}`)}`,
            ),
          ),
        ),
      ),
    ),
    area("task-text", t(task.kind === "pair" ? "tasks.first" : "tasks.text"), text, "input"),
    task.kind === "pair" && area("task-second", t("tasks.second"), second, "second"),
  );
}

function labels({ label, probabilities }) {
  const sorted = Object.entries(probabilities).sort((a, b) => b[1] - a[1]);
  return h(
    "section",
    { "aria-label": t("tasks.labels") },
    h("h2", { role: "status" }, t("tasks.answer", { label })),
    bars(sorted),
  );
}

const bars = (entries) =>
  h(
    "ol",
    { class: "bars" },
    entries.map(([name, share]) =>
      h(
        "li",
        {},
        h("span", { class: "bar-name" }, name),
        h("span", { class: "bar" }, h("i", { style: { width: `${100 * share}%` } })),
        h("span", { class: "bar-value" }, percent(share)),
      ),
    ),
  );

/** Words of one span (B-X I-X, B-X E-X) are drawn together; a tag without a prefix stands alone. */
function tags({ tokens, tags: given, probabilities }, task, said, context) {
  const kinds = [...new Set(task.labels.map(kindOf))].filter(Boolean);
  const chosen = Math.min(Number.parseInt(said.place, 10) || 0, tokens.length - 1);
  const groups = [];
  given.forEach((tag, k) => {
    const last = groups.at(-1);
    if (last && kindOf(tag) && /^[IE]-/.test(tag) && last.kind === kindOf(tag)) last.places.push(k);
    else groups.push({ kind: kindOf(tag), places: [k] });
  });
  const line = h(
    "div",
    { class: "tagged", role: "group", "aria-label": t("tasks.tags") },
    groups.map(({ kind, places }) => {
      const words = places.map((k) =>
        h(
          "button",
          {
            type: "button",
            class: "plain",
            "aria-pressed": String(k === chosen),
            "data-word": `tag ${k}`,
            "aria-label": `${tokens[k]}, ${given[k]}${task.needs_predicate && k === (Number(said.predicate) || 0) ? `, ${t("tasks.predicate")}` : ""}`,
            onclick: () => {
              context.keepFocus();
              change(task.needs_predicate ? { predicate: k, place: k } : { place: k });
            },
          },
          tokens[k],
        ),
      );
      if (!kind) return h("span", { class: "untagged" }, words);
      const look = SENSES[kinds.indexOf(kind) % SENSES.length];
      const box = h("span", { class: "tag" }, h("span", {}, words), h("small", {}, kind));
      box.style.setProperty("--tag", theme() === "dark" ? look.onDark : look.color);
      return box;
    }),
  );
  roving(line);
  return h(
    "div",
    {},
    h("section", { "aria-label": t("tasks.tags") }, line),
    tokens.length > 0 &&
      h(
        "section",
        { "aria-labelledby": "tag-title" },
        h("h2", { id: "tag-title" }, t("tasks.tag", { word: tokens[chosen] })),
        bars(
          Object.entries(probabilities[chosen])
            .sort((a, b) => b[1] - a[1])
            .slice(0, 8),
        ),
      ),
  );
}

const kindOf = (tag) => (tag === "O" ? "" : tag.replace(/^[BIES]-/, ""));
