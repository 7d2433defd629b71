// What a cell asks of its caller: a form with a field for each request.

import { may } from "./api.js";
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
  const isOne = requests.length === 1;
  const entries = requests.map((request) => FIELDS[request.kind]?.(request, isOne) ?? toolField(request));
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
    // The buttons of an only approval answer it.
    entries.length && !(isOne && requests[0].kind === "approval") ? h("button", { type: "submit", class: "primary" }, isOne ? "Answer" : "Answer all") : null,
    button("Abandon", abandon, { title: "Ends the cell, which leaves no trace" })));
}

function lineField({ id, prompt, hidden }) {
  const control = h("input", { type: hidden ? "password" : "text", autocomplete: "off" });
  return { node: field((prompt ?? "").trim().slice(0, LABEL) || "A line of text", control), read: () => ({ id, output: control.value }) };
}

/** A call that needs an approval, and its decision: with one request it is the answer, otherwise a part of it. */
function approvalField({ id, name, arguments: given }, isOne) {
  const shown = String(name).slice(0, LABEL);
  let decision = null;
  const choice = (text, value) => button(text, (event) => {
    decision = value;
    for (const one of choices) one.setAttribute("aria-pressed", String(one === event.currentTarget));
    if (isOne) event.currentTarget.form.requestSubmit();
  }, { "aria-pressed": "false", "aria-label": `${text} ${shown}` });
  // The server refuses the approval of a key without the scope.
  const choices = [...(may("approve") ? [choice("Approve", true)] : []), choice("Refuse", false)];
  const node = h("div", { role: "group", "aria-label": `Approval of ${shown}` }, h("p", {}, "The program wants to call ", h("code", {}, shown), ":"),
    json(JSON.stringify(given ?? {})), h("div", { class: "actions" }, choices));
  const read = () => {
    if (decision === null) {
      choices[0].focus();
      throw new Error(`The call of ${shown} is neither approved nor refused.`);
    }
    return { id, output: decision };
  };
  return { node, read };
}

const FIELDS = { input: lineField, approval: approvalField };

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
