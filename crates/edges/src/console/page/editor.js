// An editor for Python: a text area, with a coloured copy below it and numbers of lines beside it.
// The text area is what is edited, so everything that browsers and screen readers can do works.

import { fill, freshId, h } from "./dom.js";
import { highlight } from "./python.js";

/** Makes an editor. `onrun` is called with Ctrl+Enter, `onchange` after each change. */
export function editor(label, text, { onrun, onchange } = {}) {
  const numbers = h("div", { class: "numbers", "aria-hidden": "true" });
  const colours = h("pre", { class: "colours", "aria-hidden": "true" });
  const hint = h("p", { class: "hint unseen", id: freshId("hint") }, "Tab indents; press Escape first to leave the editor with Tab. Control and Enter run the program.");
  const area = h("textarea", {
    class: "code", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", rows: 16,
    "aria-label": label, "aria-describedby": hint.id, value: text,
  });
  let leaves = false;

  function draw() {
    const lines = area.value.split("\n").length;
    if (numbers.childElementCount !== lines) {
      fill(numbers, Array.from({ length: lines }, (_, at) => h("div", {}, at + 1)));
    }
    fill(colours, highlight(area.value), "\n");
    follow();
  }
  function follow() {
    colours.scrollTop = area.scrollTop;
    colours.scrollLeft = area.scrollLeft;
    numbers.scrollTop = area.scrollTop;
  }
  /** Types text as if by hand, so that it can be undone. */
  function type(written) {
    area.setRangeText(written, area.selectionStart, area.selectionEnd, "end");
    changed();
  }
  function changed() {
    clear();
    draw();
    onchange?.(area.value);
  }
  function clear() {
    for (const marked of numbers.querySelectorAll(".marked")) marked.classList.remove("marked");
  }
  function indent(back) {
    const { value, selectionStart: start, selectionEnd: end } = area;
    if (start === end && !back) { type("    "); return; }
    const from = value.lastIndexOf("\n", start - 1) + 1;
    const chosen = value.slice(from, end);
    const moved = chosen.replace(/^/gm, (_, at) => back ? "" : chosen[at] === "\n" ? "" : "    ").replace(/^ {1,4}/gm, (spaces) => back ? "" : spaces);
    area.setRangeText(moved, from, end, "select");
    changed();
  }
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onrun?.();
    } else if (event.key === "Escape") {
      leaves = true;
      return;
    } else if (event.key === "Tab" && !leaves) {
      event.preventDefault();
      indent(event.shiftKey);
    } else if (event.key === "Enter" && !event.isComposing) {
      const line = area.value.slice(0, area.selectionStart).split("\n").at(-1);
      const deeper = /:\s*(#.*)?$/.test(line) ? "    " : "";
      event.preventDefault();
      type(`\n${/^\s*/.exec(line)[0]}${deeper}`);
    }
    if (event.key !== "Shift") leaves = false;
  });
  area.addEventListener("input", changed);
  area.addEventListener("scroll", follow, { passive: true });
  draw();

  return {
    node: h("div", { class: "editor" }, numbers, h("div", { class: "sheet" }, colours, area), hint),
    area,
    get text() { return area.value; },
    set text(written) { area.value = written; changed(); },
    /** Shows a line, selects it, and marks its number. */
    jump(line) {
      const lines = area.value.split("\n");
      const at = Math.min(Math.max(line, 1), lines.length);
      const start = lines.slice(0, at - 1).reduce((sum, one) => sum + one.length + 1, 0);
      area.focus();
      area.setSelectionRange(start, start + lines[at - 1].length);
      const height = area.scrollHeight / lines.length;
      area.scrollTop = Math.max(0, (at - 4) * height);
      follow();
      clear();
      numbers.children[at - 1]?.classList.add("marked");
    },
  };
}
