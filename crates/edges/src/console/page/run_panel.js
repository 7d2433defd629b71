// Runs a call and shows it while it runs: log, progress, result, error, output, files and blobs.

import { callListening } from "./api.js";
import { askedForm } from "./asked.js";
import { add, button, fill, h, problem } from "./dom.js";
import { bytes, short } from "./format.js";
import { namesIn, output, preview } from "./preview.js";

/** Characters of the log that are kept on the page. */
const LONGEST_LOG = 400_000;

/** The log of a run. `say(stream, text)` adds a piece; the page follows unless the reader scrolled up. */
export function logView(label = "Log") {
  const pre = h("pre", { class: "log", role: "log", "aria-live": "polite", "aria-label": label, tabindex: 0 });
  let length = 0;
  return {
    node: pre,
    isEmpty: () => length === 0,
    say(stream, text) {
      if (length > LONGEST_LOG) return;
      length += text.length;
      const follows = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
      add(pre, h("span", { class: `log-${["stderr", "log"].includes(stream) ? stream : "stdout"}` }, text));
      if (length > LONGEST_LOG) add(pre, h("span", { class: "quiet" }, "\nThe rest is in the log of the run."));
      if (follows) pre.scrollTop = pre.scrollHeight;
    },
  };
}

/** The tone of an outcome, or of what became of a cell. */
export const toneOf = (outcome) => outcome === "completed" || outcome === "kept" || outcome === "answered" ? "good" : outcome === "running" || outcome === "queued" || outcome === "waiting" ? "busy"
  : outcome === "cancelled" || outcome === "refused" || outcome === "interrupted" || outcome === "closed" ? "dim" : "bad";

/** The outcome of a run, with a colour that is never alone. */
export const badge = (outcome) => h("span", { class: `badge badge-${toneOf(outcome)}` }, outcome.replaceAll("_", " "));

/** The lines of a traceback; those of the program's own file lead there. */
export function traceback(text, jump) {
  const pre = h("pre", { class: "traceback", tabindex: 0 });
  for (const line of String(text).split("\n")) {
    const place = /^(\s*File ")([^"]{1,300})(", line )(\d{1,7})(.*)$/.exec(line);
    const leads = place && jump && ["main.py", "<main>", "/main.py"].includes(place[2]);
    if (leads) {
      const at = Number(place[4]);
      add(pre, place[1], place[2], place[3],
        button(place[4], () => jump(at), { class: "plain jump", "aria-label": `Go to line ${at}` }), place[5], "\n");
    } else add(pre, line, "\n");
  }
  return pre;
}

/** The parts of a finished run. `again()` runs it anew and keeps its files. */
export function resultView(result, { jump = null, signal = null, again = null } = {}) {
  const parts = [];
  if (result.error) {
    parts.push(h("section", { class: "problem", "aria-label": "Error" }, h("strong", {}, result.error.type), ": ",
      h("span", { class: "message" }, result.error.message), result.error.traceback ? traceback(result.error.traceback, jump) : null));
  }
  const named = new Map([...namesIn(result.output), ...(result.files ?? []).filter((file) => file.blob_id).map((file) => [file.blob_id, file.path])]);
  const blobs = [...new Set([...(result.output_blobs ?? [])])];
  if (blobs.length) {
    parts.push(h("section", {}, h("h3", {}, blobs.length === 1 ? "File" : `${blobs.length} files`),
      h("div", { class: "previews" }, blobs.slice(0, 12).map((id) => preview(id, { signal, name: named.get(id), compact: true }))),
      blobs.length > 12 ? h("ul", {}, blobs.slice(12).map((id) => h("li", {}, h("a", { href: `#/blobs/${encodeURIComponent(id)}` }, named.get(id) ?? short(id))))) : null));
  }
  if (result.output !== null && result.output !== undefined) {
    parts.push(h("section", {}, h("h3", {}, "Output"), output(result.output, result.converted)));
  }
  const others = (result.files ?? []).filter((file) => !file.blob_id);
  if (others.length) {
    parts.push(h("section", {}, h("h3", {}, "Files that were not kept"),
      h("ul", { class: "plain-list" }, others.map((file) => h("li", {}, h("code", {}, file.path), " ",
        h("span", { class: "quiet" }, bytes(file.size_bytes), file.not_kept ? ` – ${file.not_kept}` : "")))),
      again ? h("p", {}, button("Run again and keep the files", again)) : null));
  }
  return parts;
}

/**
 * A panel that executes calls. `start(method, params)` runs one; a further one begins when it is over.
 * `onend(result)` hears of the result.
 */
export function runPanel({ jump = null, onend = null, onbusy = null, hint } = {}) {
  const status = h("div", { class: "run-status", role: "status" });
  const progress = h("progress", { hidden: true, "aria-label": "Progress of the run" });
  const place = h("div", { class: "run-result" });
  const node = h("section", { class: "run", "aria-label": "Run" }, status, progress, place);
  let running = null;
  fill(status, h("span", { class: "quiet" }, hint ?? "Nothing has run yet."));

  function stop() {
    running?.abort();
  }

  /** Runs a call. The next part of a program that has waited continues `earlier`: its log, and the call that began it. */
  async function start(method, params, earlier = null) {
    if (running) return null;
    running = new AbortController();
    onbusy?.(true);
    const { signal } = running;
    const log = earlier?.log ?? logView();
    const begun = earlier?.begun ?? { method, params };
    const began = performance.now();
    progress.hidden = true;
    const clock = h("span", { class: "quiet", "aria-hidden": "true" });
    const tick = () => fill(clock, `${((performance.now() - began) / 1000).toFixed(1)} s`);
    const timer = setInterval(tick, 100);
    const stopping = button("Stop", stop);
    fill(status, badge("running"), clock, stopping);
    const logPart = h("section", {}, h("h3", {}, "Log"), log.node);
    fill(place, logPart);
    try {
      const result = await callListening(method, params, (event, data) => {
        if (event === "output") log.say(data.stream, data.text);
        if (event === "left_out") log.say("log", `\n[${data.bytes} bytes left out]\n`);
        if (event === "progress") report(progress, data);
      }, { signal });
      if (log.isEmpty()) {
        if (result.logs_preview) log.say("stdout", result.logs_preview);
        else logPart.remove();
      }
      const ended = ["completed", "waiting"].includes(result.status) ? result.status : "failed";
      fill(status, badge(ended), h("span", {}, result.summary), h("span", { class: "quiet" },
        `${result.duration_ms} ms · ${bytes(result.memory_peak_bytes)}`), h("a", { href: `#/runs/${result.run_id}` }, "Details"));
      const again = begun.params.keep_files === true ? null : () => start(begun.method, { ...begun.params, keep_files: true });
      place.prepend(...resultView(result, { jump, again }));
      if (result.status === "waiting") place.prepend(formOf(result, { log, begun }));
      onend?.(result);
      return result;
    } catch (error) {
      const left = error.name === "AbortError";
      fill(status, badge(left ? "cancelled" : "failed"), left ? h("span", {}, "Stopped.") : null);
      if (!left) place.prepend(problem(error));
      if (log.isEmpty()) logPart.remove();
      return null;
    } finally {
      clearInterval(timer);
      progress.hidden = true;
      running = null;
      onbusy?.(false);
    }
  }
  /** A form for what a program waits for. */
  function formOf({ requests, session }, earlier) {
    const { keep_files } = earlier.begun.params;
    const own = { language: "python", session: session.id, code: "", ...(keep_files === undefined ? {} : { keep_files }) };
    const goOn = (parameters) => start("run_code", { ...own, ...parameters }, earlier);
    return askedForm(requests ?? [], { answer: (answers) => goOn({ answers }), abandon: () => goOn({ abandon: true }) });
  }
  return { node, start, stop };
}

/** Shows in a bar how far a run is. */
export function report(progress, { done, total, message }) {
  progress.hidden = false;
  if (total > 0) {
    progress.max = total;
    progress.value = Math.min(done, total);
  } else progress.removeAttribute("value");
  progress.setAttribute("aria-label", message ? `Progress: ${message}` : "Progress of the run");
  progress.title = message ?? "";
}
