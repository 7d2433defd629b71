// Blobs: the list, uploads, and one blob with what it holds.

import { blobPath, getJson, request, upload } from "./api.js";
import { add, button, copy, empty, fill, h, note, problem } from "./dom.js";
import { ago, bytes, moment, short } from "./format.js";
import { preview } from "./preview.js";

const PAGE = 50;

export async function blobsPage(main, { parts, signal }) {
  if (parts[0]) return one(main, parts[0], signal);
  const list = h("div", {});
  add(main, h("h1", {}, "Blobs"), dropZone(async (files) => {
    for (const file of files) {
      const { blob_id: id, size_bytes: size } = await upload(file);
      note(`${file.name} is stored: ${bytes(size)}`);
      if (files.length === 1) location.hash = `#/blobs/${encodeURIComponent(id)}`;
    }
    fill(list);
    await more(list, null, signal);
  }), list);
  await more(list, null, signal);
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

async function more(place, cursor, signal) {
  const page = await getJson(`/v1/blobs?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`, { signal });
  if (!page.blobs.length && !cursor) {
    fill(place, empty("No blobs yet", "Drop a file above, or let a run write one with ", h("code", {}, "runtime.blobs"), "."));
    return;
  }
  let body = place.querySelector("tbody");
  if (!body) {
    body = h("tbody");
    add(place, h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Blobs" }, h("table", {},
      h("caption", { class: "unseen" }, "Blobs"),
      h("thead", {}, h("tr", {}, [["Blob"], ["Kind"], ["Size", "number"], ["Stored", "number wide-only"], ["Last use", "number wide-only"]].map(([text, side]) => h("th", { scope: "col", class: side }, text)))), body)));
  }
  add(body, page.blobs.map((blob) => h("tr", {},
    h("td", {}, h("a", { href: `#/blobs/${encodeURIComponent(blob.blob_id)}`, title: blob.blob_id }, h("code", {}, short(blob.blob_id)))),
    h("td", { class: "kind" }, blob.kind ?? h("span", { class: "badge badge-bad" }, "damaged")),
    h("td", { class: "number" }, bytes(blob.size_bytes)),
    h("td", { class: "number wide-only", title: moment(blob.created_ms) }, ago(blob.created_ms)),
    h("td", { class: "number wide-only", title: moment(blob.last_used_ms) }, ago(blob.last_used_ms)))));
  if (page.next_cursor) {
    const next = button("Show more", () => {
      next.remove();
      more(place, page.next_cursor, signal).catch((error) => add(place, problem(error)));
    });
    add(place, next);
  }
}

async function one(main, id, signal) {
  const answers = h("div", { role: "status" });
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
    answers, preview(id, { signal }));
}
