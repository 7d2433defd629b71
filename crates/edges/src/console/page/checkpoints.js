// The checkpoints of a session as a tree. A session can be restored to each of them, or forked from it.

import { getJson, request } from "./api.js";
import { add, button, empty, fill, h, note, problem } from "./dom.js";
import { ago, bytes, moment } from "./format.js";

const JSON_TYPE = { "Content-Type": "application/json" };

/** The path of a session. */
export const sessionPath = (id) => `/v1/sessions/${encodeURIComponent(id)}`;

/** Sends a POST request about a session, and returns the answer. */
export async function order(id, what, body) {
  const answer = await request(`${sessionPath(id)}/${what}`, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) });
  return answer.json();
}

/**
 * The checkpoints as rows of `{ checkpoint, branches, isLoose }`. The newest continuation of a checkpoint
 * is the next row, so a session that never went back is one list; older ones are `branches`, each of them
 * rows as well. A row is loose if its parent was removed.
 */
export function rowsOf(checkpoints) {
  const known = new Set(checkpoints.map((one) => one.id));
  const following = new Map();
  for (const one of [...checkpoints].sort((a, b) => a.cell - b.cell || a.created_ms - b.created_ms)) {
    const before = known.has(one.parent) ? one.parent : null;
    following.set(before, [...(following.get(before) ?? []), one]);
  }
  const line = (first) => {
    const rows = [];
    for (let at = first; at;) {
      const next = following.get(at.id) ?? [];
      rows.push({ checkpoint: at, isLoose: at.parent !== null && !known.has(at.parent), branches: next.slice(0, -1).map(line) });
      at = next.at(-1);
    }
    return rows;
  };
  // The place of checkpoints whose parent was removed is unknown: they are listed in the order of their cells.
  return (following.get(null) ?? []).flatMap(line);
}

/**
 * True if the current state of the session does not include this kept cell, because the session was
 * restored to an earlier checkpoint. False where removed checkpoints make it unknown.
 */
export function isLeft(cell, checkpoints, head) {
  const byId = new Map(checkpoints.map((one) => [one.id, one]));
  const line = new Set();
  let at = head;
  while (at && byId.has(at) && !line.has(at)) {
    line.add(at);
    at = byId.get(at).parent;
  }
  const known = at ? Number(/^c(\d+)-/.exec(at)?.[1] ?? 0) : 0;
  return cell.state === "kept" && cell.number > known && !line.has(cell.checkpoint);
}

/** Fills a place with the tree of a session. `changed()` is called after a restore or a new name. */
export function drawTree(place, session, changed) {
  const answers = h("div", { role: "status" });
  const guarded = (act) => () => act().catch((error) => fill(answers, problem(error)));
  const restore = (one) => guarded(async () => {
    await order(session.id, "restore", { checkpoint: one.id });
    note(`The session is at cell ${one.cell} now`);
    await changed();
  });
  const rename = (one, item) => () => {
    const input = h("input", { type: "text", maxlength: 200, required: true, value: one.name ?? "", "aria-label": `Name of checkpoint ${one.cell}` });
    const form = h("form", {
      class: "inline-form", on: {
        submit: (event) => {
          event.preventDefault();
          guarded(async () => {
            await order(session.id, "checkpoints", { checkpoint: one.id, name: input.value.trim() });
            await changed();
          })();
        },
      },
    }, input, h("button", { type: "submit" }, "Save"), button("Cancel", () => { form.remove(); item.querySelector("button")?.focus(); }));
    item.querySelector("form")?.remove();
    item.querySelector(".checkpoint").after(form);
    input.focus();
  };
  const row = ({ checkpoint: one, branches, isLoose }) => {
    const isHead = one.id === session.checkpoint;
    const item = h("li", { "aria-current": isHead ? "true" : null }, isLoose ? h("p", { class: "quiet" }, "⋮ earlier ones were removed") : null);
    add(item, h("div", { class: "checkpoint" },
      h("span", { title: one.id }, h("strong", {}, `Cell ${one.cell}`), one.name === null ? null : [" ", h("span", { class: "tag" }, one.name)]),
      isHead ? h("span", { class: "badge badge-good" }, "current") : null,
      h("span", { class: "quiet", title: moment(one.created_ms) }, `${bytes(one.bytes)} · ${ago(one.created_ms)}`),
      h("span", { class: "actions" },
        isHead ? null : button("Restore", restore(one), { class: "plain", "aria-label": `Restore cell ${one.cell}` }),
        button("Fork", guarded(() => fork(session.id, one.id)), { class: "plain", "aria-label": `Fork from cell ${one.cell}` }),
        button("Name", rename(one, item), { class: "plain", "aria-label": `Name checkpoint ${one.cell}` }))),
    branches.length ? h("ul", { class: "checkpoints" }, branches.map((rows) => h("li", { class: "branch" }, h("ul", { class: "checkpoints" }, rows.map(row))))) : null);
    return item;
  };
  const rows = rowsOf(session.checkpoints);
  fill(place, h("h2", {}, "Checkpoints"), answers,
    rows.length ? h("ul", { class: "checkpoints" }, rows.map(row)) : empty("No checkpoints yet", "The state after each cell is one."),
    session.left_out_from_cell ? h("p", { class: "warning" }, `There are more: those from cell ${session.left_out_from_cell} on are not shown.`) : null);
}

/** Forks a session from a checkpoint, or from its current state if that is null, and shows the fork. */
export async function fork(id, checkpoint) {
  const { forks: [made] } = await order(id, "fork", { checkpoint });
  if (made.error) throw new Error(made.error);
  note("The fork is made");
  location.hash = `#/sessions/${made.id}`;
}

/** A session with its checkpoints. */
export const readSession = (id, signal) => getJson(sessionPath(id), { signal });
