// One cell of a session: its program, its state, its log and its results.

import { askedForm } from "./asked.js";
import { cellResult } from "./display.js";
import { h } from "./dom.js";
import { ago, micros, moment } from "./format.js";
import { highlight } from "./python.js";
import { badge, logView, report } from "./run_panel.js";

const program = (source, name) => source === null
  ? h("p", { class: "quiet" }, "The program was too long to be kept.")
  : h("pre", { class: "source", tabindex: 0, "aria-label": `Program of ${name}` }, highlight(source));

const frame = (name, head, ...parts) => h("li", { class: "cell" }, h("div", { class: "cell-head" }, h("h2", {}, name), head), ...parts);

/** A remark on a cell that was rolled back, with the reason unless its error states it. */
function reasonOf({ state, result, reason: lost }) {
  if (state !== "rolled_back") return null;
  const reason = lost ?? result?.session?.reason ?? (result?.error ? null : "its state was not kept");
  return h("p", { class: "warning" }, "The session is where it was before this cell", reason && reason !== result?.error?.message ? `: ${reason}` : "", ".");
}

/**
 * A list item that shows a cell, and its mark for cells that the current state does not include, which is
 * hidden at first. `log` has what the cell printed, if it ran on this page. `goOn(cell, parameters)` answers or
 * abandons a cell that waits.
 */
export function cellItem(cell, log, signal, goOn) {
  const { number, result } = cell;
  const name = `Cell ${number}`;
  const mark = h("span", { class: "badge", hidden: true, title: "The session has gone back to an earlier checkpoint." }, "not in the current state");
  const head = [badge(cell.state), mark,
    cell.state === "running" ? h("span", { class: "quiet", title: moment(cell.began_ms) }, `began ${ago(cell.began_ms)}`) : null,
    result ? h("span", { class: "quiet" }, micros(result.duration_ms * 1000)) : null,
    result?.run_id ? h("a", { href: `#/runs/${result.run_id}`, "aria-label": `Details of cell ${number}` }, "Details") : null];
  const body = h("div", { class: "run-result" }, result ? [logOf(result, log, name), cellResult(result, number, signal)]
    : cell.state === "running" || cell.reason ? null : h("p", { class: "quiet" }, "The result was too long to be kept."));
  return { item: frame(name, head, program(cell.source, name), reasonOf(cell), body, formOf(cell, goOn)), mark };
}

/** A form for what a cell waits for. Its requests may be too long to be kept; then it can only be ended. */
function formOf(cell, goOn) {
  if (cell.state !== "waiting") return null;
  return askedForm(cell.result?.requests ?? [], { answer: (answers) => goOn(cell, { answers }), abandon: () => goOn(cell, { abandon: true }) });
}

function logOf(result, heard, name) {
  if (heard && !heard.isEmpty()) return heard.node;
  if (!result.logs_preview) return null;
  const log = logView(`Log of ${name}`);
  log.say("stdout", result.logs_preview);
  return [log.node, result.logs_truncated ? h("p", { class: "quiet" }, "The middle is left out; the run has all of it.") : null];
}

/** A list item for a cell that runs on this page. `listen` takes the events of its call. */
export function liveCell(source, progress) {
  const log = logView("Log of the running cell");
  log.node.hidden = true;
  const item = frame("Running cell", badge("running"), program(source, "the running cell"), log.node);
  function listen(event, data) {
    if (event === "output") log.say(data.stream, data.text);
    if (event === "left_out") log.say("log", `\n[${data.bytes} bytes left out]\n`);
    if (event === "progress") report(progress, data);
    log.node.hidden = log.isEmpty();
  }
  return { item, log, listen };
}

/** A remark above the first cell of a fork. */
export const inherited = (last) => h("p", { class: "quiet" },
  last > 1 ? `Cells 1 to ${last} ran in the session that this one was forked from.` : "Cell 1 ran in the session that this one was forked from.");
