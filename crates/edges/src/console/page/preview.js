// Shows what a blob holds: tables, trees of JSON, pictures, texts, PDF. Content of guests is read as
// data and set as text. Pictures get an address of an image type that this page chooses, so a picture
// that is something else is a broken picture; SVG is shown as an image, in which no script runs.

import { blobPath, download, readBlob, request } from "./api.js";
import { numberColumns, parse } from "./csv.js";
import { add, button, empty, fill, h, problem, table } from "./dom.js";
import { bytes, short } from "./format.js";
import { markdown } from "./markdown.js";
import { highlight } from "./python.js";

/** Bytes of a text or a table that are read for a preview. */
const TEXT = 256 << 10;
/** Bytes of a JSON text that becomes a tree, and of a picture or a PDF. */
const TREE = 2 << 20;
const PICTURE = 32 << 20;

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/svg+xml"]);
const bare = (kind) => kind.split(";", 1)[0].trim().toLowerCase();

/** The way in which a kind is shown. */
export function sortOf(kind) {
  const type = bare(kind);
  if (PICTURES.has(type)) return "picture";
  if (type === "application/pdf") return "pdf";
  if (["text/csv", "text/tab-separated-values", "application/csv"].includes(type)) return "table";
  if (type === "application/json" || type.endsWith("+json")) return "tree";
  if (type === "text/markdown") return "markdown";
  if (["text/x-python", "application/x-python", "text/python", "application/python"].includes(type)) return "python";
  if (type.startsWith("text/") || /(json|xml|yaml|toml|javascript|sql|sh|latex|graphql)$/.test(type)) return "text";
  return "bytes";
}

const decode = (content) => new TextDecoder("utf-8").decode(content);

/** The addresses that were made for the page that shows. They end with it. */
const addresses = new Set();

function addressOf(content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  addresses.add(address);
  return address;
}

/** Gives back what the pictures of the last page held. */
export function forgetAddresses() {
  for (const address of addresses) URL.revokeObjectURL(address);
  addresses.clear();
}

/** An element that shows a blob, filled when the content is there. */
export function preview(id, { signal, name = null, compact = false } = {}) {
  const place = h("div", { class: "preview" }, h("p", { class: "quiet" }, "Loading…"));
  show(place, id, { signal, name, compact }).catch((error) => {
    if (error.name !== "AbortError") fill(place, problem(error));
  });
  return place;
}

async function show(place, id, { signal, name, compact }) {
  const head = await request(blobPath(id), { method: "HEAD", signal }).catch((error) => {
    // The answer to HEAD has no body that says it.
    if (error.status === 404) error.message = "there is no such blob, or it has expired";
    throw error;
  });
  const kind = head.headers.get("Content-Type") ?? "application/octet-stream";
  const size = Number(head.headers.get("Content-Length") ?? 0);
  const sort = sortOf(kind);
  const most = sort === "picture" || sort === "pdf" ? PICTURE : sort === "tree" ? TREE : TEXT;
  const bar = h("div", { class: "preview-bar" },
    name ? h("strong", { class: "cut" }, name) : compact ? h("code", { class: "cut", title: id }, short(id)) : null,
    h("span", { class: "quiet" }, `${kind} · ${bytes(size)}`),
    compact ? h("a", { href: `#/blobs/${encodeURIComponent(id)}` }, "Open") : null,
    button("Download", () => download(id, name?.split("/").at(-1)).catch((error) => add(place, problem(error)))));
  if ((sort === "picture" || sort === "pdf") && size > most) {
    fill(place, bar, empty("Too large to show here", `${bytes(size)} – download it instead.`));
    return;
  }
  if (sort === "bytes" && size > 0) {
    const { content } = await readBlob(id, 256, { signal });
    fill(place, bar, hexadecimal(content, size));
    return;
  }
  const { content } = await readBlob(id, most, { signal });
  fill(place, bar, body(sort, bare(kind), content, size, name ?? id));
}

function body(sort, kind, content, size, name) {
  const cut = content.length < size;
  if (size === 0) return empty("This blob is empty");
  switch (sort) {
    case "picture": return picture(content, kind, name);
    case "pdf": return pdf(content);
    case "table": return grid(decode(content), cut, kind);
    case "tree": return cut ? text(decode(content), true) : json(decode(content));
    case "markdown": return h("div", { class: "boxed" }, markdown(decode(content)));
    case "python": return h("pre", { tabindex: 0 }, highlight(decode(content)));
    default: return text(decode(content), cut);
  }
}

function text(shown, cut) {
  return h("div", {}, h("pre", { tabindex: 0 }, shown),
    cut ? h("p", { class: "quiet" }, `The first ${bytes(TEXT)} are shown.`) : null);
}

export function picture(content, type, name) {
  const image = h("img", { src: addressOf(content, type), alt: `Picture ${name}`, class: "picture" });
  image.addEventListener("error", () => image.replaceWith(problem(new Error(`this is no picture that the browser can show (${type})`))));
  return h("figure", {}, image);
}

/**
 * A PDF has a tab of its own, where the browser's viewer shows it: viewers do not work in frames that are
 * kept away from the page. The type is fixed, so whatever the content is, it is never read as HTML.
 */
function pdf(content) {
  if (decode(content.subarray(0, 5)) !== "%PDF-") {
    return problem(new Error("this is not a PDF, whatever its kind says"));
  }
  const facts = decode(content).match(/\/Type\s*\/Page(?![s\w])/g)?.length;
  return h("div", { class: "empty" }, h("p", { class: "empty-title" }, "A PDF document"),
    h("p", {}, facts ? `It seems to have ${facts} ${facts === 1 ? "page" : "pages"}. ` : null,
      h("a", { href: addressOf(content, "application/pdf"), target: "_blank", rel: "noopener" }, "Open it in a new tab")));
}

function grid(shown, cut, kind) {
  const { rows, more } = parse(shown, { cut, mark: kind.includes("tab") ? "\t" : undefined });
  if (!rows.length) return text(shown, cut);
  const [head, ...rest] = rows;
  return h("div", {}, table("Rows of the table", head, rest.map((row) => head.map((_, at) => row[at] ?? "")), { right: numberColumns(rows) }),
    h("p", { class: "quiet" }, more ? `The first ${rest.length} rows and ${head.length} columns are shown.` : `${rest.length} rows, ${head.length} columns`));
}

/** JSON as a tree, or as text if it is none. */
export function json(shown) {
  let value;
  try {
    value = JSON.parse(shown);
  } catch {
    return text(shown, false);
  }
  return output(value);
}

/** Entries of an object or array that are shown at once. */
const ENTRIES = 100;

/** A value of JSON as a tree. What is closed is made when it is opened. */
export function tree(value, name = null, level = 0) {
  const label = name === null ? null : [h("span", { class: "tree-key" }, name), ": "];
  if (value === null || typeof value !== "object") {
    return h("div", { class: "leaf" }, label, leaf(value));
  }
  const entries = Array.isArray(value) ? value.map((item, at) => [String(at), item]) : Object.entries(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (!entries.length) return h("div", { class: "leaf" }, label, open, close);
  const count = `${entries.length} ${Array.isArray(value) ? (entries.length === 1 ? "item" : "items") : (entries.length === 1 ? "member" : "members")}`;
  const branch = h("details", { class: "tree" }, h("summary", {}, label, h("span", { class: "quiet" }, `${open} ${count} ${close}`)));
  let shown = 0;
  const more = () => {
    for (const [key, item] of entries.slice(shown, shown + ENTRIES)) add(branch, tree(item, key, level + 1));
    shown += ENTRIES;
    if (shown < entries.length) {
      const next = button(`Show more of ${entries.length}`, () => { next.remove(); more(); }, { class: "plain" });
      add(branch, next);
    }
  };
  branch.addEventListener("toggle", () => { if (branch.open && shown === 0) more(); });
  if (level < 2 && entries.length <= 40) {
    more();
    branch.open = true;
  }
  return branch;
}

function leaf(value) {
  if (typeof value === "string") {
    const text = value.length > 2000 ? `${value.slice(0, 2000)}…` : value;
    if (/^blob:[a-z2-7]{52}$/.test(value)) return h("a", { href: `#/blobs/${encodeURIComponent(value)}`, title: value }, short(value));
    return h("span", { class: "py-string" }, JSON.stringify(text));
  }
  return h("span", { class: value === null || typeof value === "boolean" ? "py-value" : "py-number" }, String(value));
}

function hexadecimal(content, size) {
  const lines = [];
  for (let at = 0; at < content.length; at += 16) {
    const row = [...content.subarray(at, at + 16)];
    const digits = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const letters = row.map((byte) => byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".").join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${digits}  ${letters}`);
  }
  return h("div", {}, h("pre", { tabindex: 0 }, lines.join("\n")),
    size > content.length ? h("p", { class: "quiet" }, `The first ${content.length} bytes are shown.`) : null);
}

/** Rows, columns, letters of a cell and tables of an output that are shown. */
const ROWS = 200;
const COLUMNS = 30;
const CELL = 300;
const TABLES = 5;

/** A value that a run returned: the tables in it, and the tree. `converted` names what were tables in the program. */
export function output(value, converted = []) {
  const wasTable = new Set((converted ?? []).filter((one) => one.from === "pandas.DataFrame").map((one) => one.path));
  const tables = tablesIn(value, wasTable);
  return h("div", { class: "column" }, tables.slice(0, TABLES).map(({ name, columns, rows, total }) => h("section", {}, name ? h("h4", {}, name) : null,
    table(`Rows of ${name ?? "the output"}`, columns, rows, { right: numberColumns([columns, ...rows]) }),
    h("p", { class: "quiet" }, total > rows.length ? `The first ${rows.length} of ${total} rows` : `${total} ${total === 1 ? "row" : "rows"}`))), tree(value));
}

/** The lists of objects in an output, as columns and rows. */
function tablesIn(value, wasTable) {
  const isRow = (row) => row && typeof row === "object" && !Array.isArray(row);
  const isTable = (items) => Array.isArray(items) && items.length > 0 && items.slice(0, ROWS).every(isRow);
  const cell = (item) => item === null || item === undefined ? "" : typeof item === "object" ? JSON.stringify(item).slice(0, CELL) : String(item).slice(0, CELL);
  const lists = Array.isArray(value) ? [[null, value]] : Object.entries(isRow(value) ? value : {});
  const found = lists.filter(([, items]) => isTable(items));
  // What was a table in the program comes first.
  const rank = ([name]) => wasTable.has(name === null ? "$" : `$.${name}`) ? 0 : 1;
  return found.sort((one, other) => rank(one) - rank(other)).map(([name, items]) => {
    const columns = [...new Set(items.slice(0, ROWS).flatMap((row) => Object.keys(row)))].slice(0, COLUMNS);
    const rows = items.slice(0, ROWS).map((row) => columns.map((column) => cell(Object.hasOwn(row, column) ? row[column] : null)));
    return { name: name === "result" ? null : name, columns, rows, total: items.length };
  });
}

/** The members of an output that are ids of blobs: pairs of id and name. */
export function namesIn(value, most = 200) {
  const found = [];
  let left = 2000;
  const look = (item, name, level) => {
    left -= 1;
    if (found.length >= most || left < 0 || level > 6) return;
    if (typeof item === "string") {
      if (name && /^blob:[a-z2-7]{52}$/.test(item)) found.push([item, name]);
    } else if (Array.isArray(item)) item.forEach((part, at) => look(part, name ? `${name} ${at + 1}` : null, level + 1));
    else if (item && typeof item === "object") for (const [key, part] of Object.entries(item)) look(part, key.slice(0, 80), level + 1);
  };
  look(value, null, 0);
  return found;
}
