// Sessions: the list, and a form that begins one. One session is shown by notebook.js.

import { getJson, request } from "./api.js";
import { add, button, empty, field, fill, h, problem } from "./dom.js";
import { ago, bytes, moment, short, until } from "./format.js";
import { notebookPage, warmth } from "./notebook.js";

/** Sessions of a request. */
const PAGE = 50;

export async function sessionsPage(main, { parts, signal }) {
  if (parts[0]) return notebookPage(main, parts[0], signal);
  const usage = h("p", { class: "quiet", role: "status" });
  const list = h("div", {});
  add(main, h("div", { class: "title" }, h("h1", {}, "Sessions"), usage), newSession(), list);
  await more(list, usage, null, signal);
}

function newSession() {
  const place = h("div", {});
  const label = h("input", { type: "text", maxlength: 200, placeholder: "report" });
  const begin = async () => {
    const order = label.value.trim() ? { label: label.value.trim() } : {};
    const answer = await request("/v1/sessions", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(order) });
    location.hash = `#/sessions/${(await answer.json()).id}`;
  };
  return h("form", {
    on: { submit: (event) => { event.preventDefault(); begin().catch((error) => fill(place, problem(error))); } },
  }, h("div", { class: "inline" }, field("Label", label, null, h("span", { class: "quiet" }, " (optional)")), h("button", { type: "submit", class: "primary" }, "New session")), place);
}

async function more(place, usage, cursor, signal) {
  const page = await getJson(`/v1/sessions?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal });
  fill(usage, `${page.usage.sessions} ${page.usage.sessions === 1 ? "session takes" : "sessions take"} ${bytes(page.usage.bytes)}`);
  let body = place.querySelector("tbody");
  if (!body) {
    body = h("tbody");
    fill(place, h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Sessions" }, h("table", {}, h("caption", { class: "unseen" }, "Sessions, newest first"),
      h("thead", {}, h("tr", {}, [["Label"], ["Interpreter"], ["Cells", "number"], ["Checkpoint", "wide-only"], ["Size", "number"], ["Used", "number"], ["Expires", "number"]].map(([text, side]) => h("th", { scope: "col", class: side }, text)))), body)));
  }
  add(body, page.sessions.map((session) => h("tr", {},
    h("td", {}, h("a", { href: `#/sessions/${session.id}`, title: session.id, class: "cut" }, session.label ?? h("code", {}, short(session.id)))),
    h("td", {}, warmth(session)),
    h("td", { class: "number" }, session.cells),
    h("td", { class: "wide-only" }, session.checkpoint ? h("code", { title: session.checkpoint }, short(session.checkpoint)) : h("span", { class: "quiet" }, "–")),
    h("td", { class: "number", title: "Its states on the disk" }, bytes(session.parked_own_bytes + session.parked_shared_bytes)),
    h("td", { class: "number", title: moment(session.used_ms) }, ago(session.used_ms)),
    h("td", { class: "number", title: moment(session.expires_ms) }, until(session.expires_ms)))));
  if (page.next_cursor) {
    const next = button("Show more", () => { next.remove(); more(place, usage, page.next_cursor, signal).catch((error) => add(place, problem(error))); });
    add(place, next);
  } else if (!body.childElementCount) {
    fill(place, empty("No sessions yet", "Begin one above, or call ", h("code", {}, "run_code"), " with ", h("code", {}, "\"session\": \"new\""), "."));
  }
}
