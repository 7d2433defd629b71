// One session as a notebook: its cells, a field for the next one, and its checkpoints. Cells of other
// clients appear while the page is open.

import { callListening, getJson, request, save } from "./api.js";
import { cellItem, inherited, liveCell } from "./cell.js";
import { drawTree, fork, isLeft, order, readSession, sessionPath } from "./checkpoints.js";
import { add, button, copy, fill, h, note, problem } from "./dom.js";
import { editor } from "./editor.js";
import { ago, bytes, moment, short, until } from "./format.js";

/** Cells of a request. */
const PAGE = 50;
/** Intervals at which cells of other clients are looked for, in milliseconds: while one is running, and otherwise. */
const PERIOD = 1000;
const CALM_PERIOD = 3000;
/** Statuses that end the looking: the key or the session is gone. */
const FINAL = new Set([401, 403, 404, 410]);

/** Whether the interpreter of a session is in memory. */
export const warmth = (session) => session.is_warm
  ? h("span", { class: "badge badge-good", title: `A worker has its interpreter${session.guest_memory_bytes === null ? "" : `, which takes ${bytes(session.guest_memory_bytes)}`}: the next cell begins at once.` }, "warm")
  : h("span", { class: "badge", title: "The next cell restores it from the disk." }, "parked");

const sleep = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

export async function notebookPage(main, id, signal) {
  const title = h("h1", {}, "Session");
  const facts = h("p", { class: "run-head" });
  const answers = h("div", { role: "status" });
  const earlier = h("div", {});
  const list = h("ol", { class: "cells" });
  const tree = h("section", { class: "card", "aria-label": "Checkpoints" });
  const status = h("span", { class: "quiet", role: "status" });
  const shown = new Map();
  let session = null;
  let isCalling = false;

  const guarded = (act) => () => act().catch((error) => { if (error.name !== "AbortError") fill(answers, problem(error)); });
  const start = button("Run", () => run(), { class: "primary", title: "Control and Enter" });
  const interrupt = button("Interrupt", guarded(async () => {
    const { interrupted } = await order(id, "interrupt", {});
    if (!interrupted) note("No cell is running");
  }), { disabled: true, title: "Raises KeyboardInterrupt in the cell that runs or waits" });
  const forking = button("Fork", guarded(() => fork(id, null)), { disabled: true, title: "Begins another session with the state of this one" });
  const progress = h("progress", { hidden: true, "aria-label": "Progress of the cell" });
  const draft = `wardian-cell:${id}`;
  const code = editor("Next cell", sessionStorage.getItem(draft) ?? "", { onrun: () => run(), onchange: (text) => keepDraft(draft, text) });

  const cellIn = (...states) => [...shown.values()].find((entry) => states.includes(entry.cell.state))?.cell;
  const running = () => cellIn("running");
  const isBusy = () => isCalling || Boolean(running());
  const unended = () => cellIn("running", "waiting");
  const readCells = async (after) => (await getJson(`${sessionPath(id)}/cells?after=${after}&limit=${PAGE}`, { signal })).cells;

  /** A session has one cell at a time, which can be interrupted. */
  function drawControls() {
    const hadFocus = document.activeElement === interrupt;
    start.disabled = isBusy() || Boolean(unended());
    interrupt.disabled = !isBusy() && !unended();
    if (hadFocus && interrupt.disabled) code.area.focus();
  }

  /** Shows a cell at its place, or anew. */
  function put(cell, log = null) {
    const entry = { cell, ...cellItem(cell, log, signal, goOn) };
    const before = shown.get(cell.number);
    shown.set(cell.number, entry);
    if (before) { before.item.replaceWith(entry.item); return; }
    const next = [...shown.keys()].filter((number) => number > cell.number);
    if (next.length) shown.get(Math.min(...next)).item.before(entry.item);
    else list.append(entry.item);
  }

  function drawSession() {
    fill(title, session.label ?? "Session");
    const { parked_own_bytes: own, parked_shared_bytes: shared, forked_from: origin } = session;
    fill(facts, h("code", { class: "quiet" }, id), button("Copy", () => copy(id, "The id"), { class: "plain", "aria-label": "Copy the id" }), warmth(session),
      h("span", { class: "quiet" }, `${session.cells} ${session.cells === 1 ? "cell" : "cells"} · ${bytes(own + shared)}${shared ? `, ${bytes(shared)} of it shared` : ""} · used `, h("span", { title: moment(session.used_ms) }, ago(session.used_ms)),
        " · expires ", h("span", { title: moment(session.expires_ms) }, until(session.expires_ms)),
        origin ? [" · forked from ", h("a", { href: `#/sessions/${origin.session}`, title: `${origin.session}, ${origin.checkpoint}` }, short(origin.session))] : null));
    forking.disabled = session.checkpoint === null;
    drawTree(tree, session, refresh);
    drawControls();
    for (const { cell, mark } of shown.values()) mark.hidden = !isLeft(cell, session.checkpoints, session.checkpoint);
  }

  /** Reads the session, and the cells that are new. */
  async function refresh() {
    session = await readSession(id, signal);
    const last = shown.size ? Math.max(...shown.keys()) : Math.max(0, session.cells - PAGE);
    const cells = await readCells(last);
    cells.forEach((cell) => put(cell));
    drawSession();
    if (cells.length === PAGE) await refresh();
  }

  /** Shows cells of other clients that have begun or ended. */
  async function look() {
    const cells = await readCells(unended() ? unended().number - 1 : Math.max(0, ...shown.keys()));
    // A cell that has begun on this page meanwhile is shown already.
    if (isCalling) return;
    const changed = cells.filter((cell) => shown.get(cell.number)?.cell.state !== cell.state);
    changed.forEach((cell) => put(cell));
    if (changed.length) await refresh();
  }

  async function follow() {
    for (;;) {
      await sleep(running() ? PERIOD : CALM_PERIOD);
      if (signal.aborted) return;
      if (isCalling || document.hidden) continue;
      try {
        await look();
      } catch (error) {
        if (error.name === "AbortError") return;
        if (FINAL.has(error.status)) { fill(answers, problem(error)); return; }
      }
    }
  }

  function drawEarlier() {
    const first = Math.min(...shown.keys(), session.cells + 1);
    if (first <= 1) { fill(earlier); return; }
    const more = button("Show earlier cells", guarded(async () => {
      const older = (await readCells(Math.max(0, first - 1 - PAGE))).filter((cell) => cell.number < first);
      older.forEach((cell) => put(cell));
      drawSession();
      if (older.length) drawEarlier();
      else fill(earlier, inherited(first - 1));
    }));
    // A fork has no cells from before it was made.
    fill(earlier, shown.size ? more : inherited(session.cells));
  }

  async function run() {
    const source = code.text;
    if (isBusy() || unended() || !source.trim()) return;
    code.text = "";
    if (!await call({ code: source }, source) && !code.text) code.text = source;
  }

  /** Answers or abandons a cell that waits. Its earlier parts are those that the server has. */
  async function goOn(cell, parameters) {
    if (isBusy()) return;
    if (!await call({ code: "", ...parameters }, cell.source)) return;
    await guarded(async () => {
      const [whole] = await readCells(cell.number - 1);
      if (whole?.number === cell.number) put(whole);
      drawSession();
    })();
  }

  /** Runs a cell, or its next part. Returns whether the server did it. */
  async function call(parameters, source) {
    fill(answers);
    const live = liveCell(source, progress);
    list.append(live.item);
    isCalling = true;
    drawControls();
    fill(status, "The cell is running…");
    live.item.scrollIntoView({ block: "nearest" });
    let isDone = false;
    try {
      const result = await callListening("run_code", { language: "python", session: id, ...parameters }, live.listen);
      const { cell: number, checkpoint, state } = result.session;
      live.item.remove();
      put({ number, source, state, checkpoint: state === "kept" ? checkpoint : null, result }, live.log);
      fill(status, state === "waiting" ? `Cell ${number} waits for answers.`
        : `Cell ${number} ${result.error ? `ended with ${result.error.type}` : "has ended"}; its state is ${state === "kept" ? "kept" : "rolled back"}.`);
      isDone = true;
    } catch (error) {
      // The call was refused, or its answer was lost: then the next read finds the cell.
      live.item.remove();
      fill(status);
      fill(answers, problem(error));
    } finally {
      progress.hidden = true;
      isCalling = false;
      drawControls();
    }
    if (!signal.aborted) await guarded(refresh)();
    return isDone;
  }

  const exported = guarded(async () => {
    const answer = await request(`${sessionPath(id)}/notebook`, { signal });
    const name = (session.label ?? "").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|-+$/g, "");
    save(await answer.blob(), `${name || id}.ipynb`);
  });
  const close = () => {
    const sure = h("div", { class: "problem", role: "alertdialog", "aria-label": "Close the session" }, "Close this session? Its state and its checkpoints are deleted, and a running cell is stopped. ",
      button("Close", guarded(async () => {
        await request(sessionPath(id), { method: "DELETE" });
        sessionStorage.removeItem(draft);
        note("The session is closed");
        location.hash = "#/sessions";
      }), { class: "danger" }), " ", button("Keep", () => fill(answers)));
    fill(answers, sure);
    sure.querySelector("button:last-child").focus();
  };

  add(main, h("p", { class: "trail" }, h("a", { href: "#/sessions" }, "Sessions")), h("div", { class: "title" }, title, h("div", { class: "actions" },
    button("Export", exported, { title: "As a Jupyter notebook" }), forking, button("Close", close))), facts, answers);
  await refresh();
  drawEarlier();
  add(main, h("div", { class: "split notebook" }, h("div", { class: "column" }, earlier, list,
    h("section", { class: "next-cell", "aria-label": "Next cell" }, code.node, progress, h("div", { class: "actions" }, start, interrupt, status))), tree));
  follow();
}

/** Keeps what was typed until the tab is closed. */
function keepDraft(name, text) {
  try {
    if (text) sessionStorage.setItem(name, text);
    else sessionStorage.removeItem(name);
  } catch { /* The tab keeps no more: it stays on the page. */ }
}
