// Blobs: the list, uploads, and one blob with what it holds.

import { blobPath, getJson, may, request, upload } from "./api.js";
import { add, button, copy, empty, field, fill, h, note, problem } from "./dom.js";
import { ago, bytes, moment, short } from "./format.js";
import { preview } from "./preview.js";
import { titleOf } from "./runs.js";

/** Blobs of a request, and blobs that are listed at most. */
const PAGE = 1000;
const MOST = 5000;
/** Rows that show at first, and with each *Show more*. */
const ROWS = 100;

export async function blobsPage(main, { parts, signal }) {
  if (parts[0]) return one(main, parts[0], signal);
  const list = h("div", {});
  const search = h("input", { type: "search", placeholder: "Name, kind or id" });
  const order = h("select", {}, [["created", "newest first"], ["name", "by name"], ["size", "largest first"]].map(([value, text]) => h("option", { value }, text)));
  const count = h("p", { class: "quiet", role: "status" });
  let found = { blobs: [], hasMore: false };
  const draw = () => drawList(list, count, found, search.value);
  search.addEventListener("input", draw);
  let turn = 0;
  const look = async () => {
    const mine = ++turn;
    const blobs = await all(order.value, signal);
    // Another order may have been chosen meanwhile.
    if (mine !== turn) return;
    found = blobs;
    draw();
  };
  order.addEventListener("change", () => look().catch((error) => { if (!signal.aborted) fill(list, problem(error)); }));
  add(main, h("h1", {}, "Blobs"), dropZone(async (files) => {
    for (const file of files) {
      const { blob_id: id, size_bytes: size } = await upload(file);
      note(`${file.name} is stored: ${bytes(size)}`);
      if (files.length === 1) location.hash = `#/blobs/${encodeURIComponent(id)}`;
    }
    await look();
  }), h("div", { class: "search" }, field("Search", search), field("Order", order), count), list);
  await look();
}

/** The first blobs of the caller in an order. Of very many, the server has those by id only. */
async function all(order, signal) {
  const blobs = [];
  let cursor = null;
  do {
    let page;
    try {
      page = await getJson(`/v1/blobs?order=${order}&limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal });
    } catch (error) {
      if (error.parameter !== "order" || order === "id") throw error;
      return all("id", signal);
    }
    blobs.push(...page.blobs);
    cursor = page.next_cursor;
  } while (cursor && blobs.length < MOST);
  return { blobs, order, hasMore: Boolean(cursor) };
}

const FIRST = { created: "newest", name: "first by name", size: "largest", id: "first by id" };

function drawList(place, count, { blobs, order, hasMore }, text) {
  if (!blobs.length) {
    fill(count);
    fill(place, empty("No blobs yet", "Drop a file above, or let a run write one with ", h("code", {}, "runtime.blobs"), "."));
    return;
  }
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (blob) => {
    const all = [blob.name ?? "", blob.kind ?? "", blob.blob_id].join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  };
  const shown = blobs.filter(fits);
  fill(count, `${shown.length} of ${blobs.length}${hasMore ? ` – only the ${MOST} ${FIRST[order]} are listed` : ""}`);
  if (!shown.length) { fill(place, empty("No blob fits", "Try fewer words.")); return; }
  const body = h("tbody");
  fill(place, h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Blobs" }, h("table", {},
    h("caption", { class: "unseen" }, "Blobs"),
    h("thead", {}, h("tr", {}, [["Name"], ["Kind"], ["Size", "number"], ["Stored", "number"], ["Last use", "number wide-only"]].map(([text, side]) => h("th", { scope: "col", class: side }, text)))), body)));
  let at = 0;
  const more = () => {
    add(body, shown.slice(at, at + ROWS).map(row));
    at += ROWS;
    if (at < shown.length) {
      const next = button("Show more", () => { next.remove(); more(); });
      add(place, next);
    }
  };
  more();
}

const row = (blob) => h("tr", {},
  h("td", {}, h("a", { href: `#/blobs/${encodeURIComponent(blob.blob_id)}`, title: blob.blob_id, class: "cut" }, blob.name ?? h("code", {}, short(blob.blob_id)))),
  h("td", { class: "kind" }, blob.kind ?? h("span", { class: "badge badge-bad" }, "damaged")),
  h("td", { class: "number" }, bytes(blob.size_bytes)),
  h("td", { class: "number", title: moment(blob.created_ms) }, ago(blob.created_ms)),
  h("td", { class: "number wide-only", title: moment(blob.last_used_ms) }, ago(blob.last_used_ms)));

/** The runs that stored a blob, for those who see runs. */
async function madeBy(place, id, signal) {
  if (!may("execute") && !may("code")) return;
  const { runs } = await getJson(`/v1/runs?limit=5&blob=${encodeURIComponent(id)}`, { signal });
  if (runs.length) fill(place, h("span", { class: "quiet" }, "Made by "), runs.map((run, at) => [at ? ", " : null, h("a", { href: `#/runs/${run.run_id}` }, titleOf(run)), h("span", { class: "quiet" }, ` ${ago(run.started_ms)}`)]));
}

/** A place to drop files on, and a button that chooses them. */
export function dropZone(take, text = "Drop files here to store them as blobs") {
  const place = h("div", {});
  const input = h("input", { type: "file", multiple: true, class: "unseen", "aria-label": "Files to store", tabIndex: -1 });
  const zone = h("div", { class: "drop" }, h("p", {}, text, " or ", button("choose files", () => input.click())), input, place);
  const start = async (files) => {
    if (!files.length) return;
    fill(place, h("p", { class: "quiet", role: "status" }, `Storing ${files.length === 1 ? files[0].name : `${files.length} files`}…`));
    try {
      await take(files);
      fill(place);
    } catch (error) {
      fill(place, problem(error));
    }
  };
  input.addEventListener("change", () => { start([...input.files]).finally(() => { input.value = ""; }); });
  zone.addEventListener("dragover", (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    start([...event.dataTransfer.files]);
  });
  return zone;
}

async function one(main, id, signal) {
  const answers = h("div", { role: "status" });
  const makers = h("p", {});
  const verify = async () => {
    const { intact } = await (await request(`${blobPath(id)}/verify`, { method: "POST", signal })).json();
    fill(answers, h("p", {}, intact ? h("span", { class: "badge badge-good" }, "intact") : h("span", { class: "badge badge-bad" }, "damaged"),
      intact ? " The content fits its id." : " The content does not fit its id."));
  };
  const remove = async () => {
    const sure = h("div", { class: "problem", role: "alertdialog", "aria-label": "Delete the blob" }, "Delete this blob? Runs that name it will fail. ",
      button("Delete", async () => {
        await request(blobPath(id), { method: "DELETE" });
        note("The blob is deleted");
        location.hash = "#/blobs";
      }, { class: "danger" }), " ", button("Keep", () => fill(answers)));
    fill(answers, sure);
    sure.querySelector("button:last-child").focus();
  };
  const guarded = (act) => () => act().catch((error) => fill(answers, problem(error)));
  add(main, h("p", { class: "trail" }, h("a", { href: "#/blobs" }, "Blobs")), h("h1", { class: "mono" }, short(id, 20)),
    h("div", { class: "actions" }, button("Copy the id", () => copy(id, "The id")), button("Verify", guarded(verify)), button("Delete", guarded(remove)),
      h("a", { class: "button", href: `#/playground?blob=${encodeURIComponent(id)}` }, "Use in the playground")),
    answers, makers, preview(id, { signal }));
  // Who made it is beside the point where records are not kept.
  madeBy(makers, id, signal).catch(() => {});
}
