// What a cell asks of its caller: a form with a field for each request.

import { add, button, field, fill, h, problem } from "./dom.js";
import { json } from "./preview.js";

/** Letters of a name or prompt on a label. */
const LABEL = 300;

/**
 * A form for the requests of a cell that waits. `answer(answers)` goes on with the cell, and `abandon()` ends
 * it.
 */
export function askedForm(requests, { answer, abandon }) {
  const refused = h("div", {});
  const entries = requests.map((request) => request.kind === "input" ? lineField(request) : toolField(request));
  const form = h("form", { class: "asked", "aria-label": "Answers", on: { submit: (event) => {
    event.preventDefault();
    fill(refused);
    try {
      answer(entries.map(({ read }) => read()));
    } catch (error) {
      fill(refused, problem(error));
    }
  } } });
  return add(form, entries.map(({ node }) => node), refused, h("div", { class: "actions" },
    entries.length ? h("button", { type: "submit", class: "primary" }, entries.length === 1 ? "Answer" : "Answer all") : null,
    button("Abandon", abandon, { title: "Ends the cell, which leaves no trace" })));
}

function lineField({ id, prompt, hidden }) {
  const control = h("input", { type: hidden ? "password" : "text", autocomplete: "off" });
  return { node: field((prompt ?? "").trim().slice(0, LABEL) || "A line of text", control), read: () => ({ id, output: control.value }) };
}

function toolField({ id, name, arguments: given }) {
  const control = h("textarea", { rows: 2, spellcheck: "false" });
  const fails = h("input", { type: "checkbox" });
  const node = h("div", {}, json(JSON.stringify(given ?? {})), field(`Output of ${String(name).slice(0, LABEL)}`, control, "JSON, or a text for an error"),
    h("label", { class: "check" }, fails, " is an error"));
  const read = () => {
    if (fails.checked) return { id, error: control.value || "no answer" };
    try {
      return { id, output: control.value.trim() ? JSON.parse(control.value) : null };
    } catch (error) {
      control.focus();
      throw new Error(`The output of ${name} is not JSON: ${error.message}`);
    }
  };
  return { node, read };
}
