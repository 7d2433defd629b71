// The results of a cell: the objects that it displayed, each in the richest form that can be shown, its
// value, its error and its files.

import { may, readBlob } from "./api.js";
import { add, fill, h, problem } from "./dom.js";
import { bytes } from "./format.js";
import { readHtml } from "./html.js";
import { markdown } from "./markdown.js";
import { json, output, picture, tree } from "./preview.js";
import { resultView } from "./run_panel.js";

/** Most bytes that are read of a text and of a picture that are stored as blobs. */
const TEXT = 256 << 10;
const PICTURE = 32 << 20;

/** Forms of an object, the richest first, with what shows their content. A form that shows nothing gives null. */
const FORMS = [
  ["text/html", (text) => {
    const { node, isCut, isEmpty } = readHtml(text);
    return isEmpty ? null : [node, isCut ? h("p", { class: "quiet" }, "Parts of this HTML are not shown.") : null];
  }],
  ["image/svg+xml", (content, name) => picture(content, "image/svg+xml", name)],
  ["image/png", (content, name) => picture(content, "image/png", name)],
  ["image/jpeg", (content, name) => picture(content, "image/jpeg", name)],
  ["text/markdown", (text) => h("div", { class: "boxed" }, markdown(text))],
  ["application/json", (text) => json(text)],
  ["text/latex", (text) => h("pre", { tabindex: 0 }, text)],
  ["text/plain", (text) => h("pre", { tabindex: 0 }, text)],
];

/** The forms of an object that can be shown, the richest first. */
export const formsOf = (bundle) => FORMS.filter(([kind]) => {
  const part = Object.hasOwn(bundle, kind) ? bundle[kind] : null;
  return typeof part?.text === "string" || typeof part?.blob === "string";
});

/** An element that shows one displayed object. */
export function displayed(bundle, name, signal) {
  const place = h("div", { class: "displayed" });
  draw(place, bundle, name, signal).catch((error) => {
    if (error.name !== "AbortError") fill(place, problem(error));
  });
  return place;
}

async function draw(place, bundle, name, signal) {
  let refused = null;
  for (const [kind, show] of formsOf(bundle)) {
    const part = bundle[kind];
    const isPicture = kind.startsWith("image/");
    if (part.blob && !may("blobs")) {
      refused ??= h("p", { class: "quiet" }, `Its form as ${kind} is not shown: this key lacks the scope blobs.`);
      continue;
    }
    if (part.blob) fill(place, h("p", { class: "quiet" }, "Loading…"));
    const read = part.blob ? await readBlob(part.blob, isPicture ? PICTURE : TEXT, { signal }) : null;
    const content = read?.content ?? part.text;
    const shown = show(isPicture || typeof content === "string" ? content : new TextDecoder("utf-8").decode(content), name);
    if (shown === null) continue;
    fill(place, shown, refused, read && read.content.length < read.size ? h("p", { class: "quiet" }, "Only the beginning is shown.") : null);
    return;
  }
  fill(place, refused ?? h("p", { class: "quiet" }, "An object without a form that can be shown here"));
}

/** The parts of a finished cell: its error, what it displayed (the server bounds it), its value and its files. */
export function cellResult(result, number, signal) {
  const objects = result.display ?? [];
  const inDisplay = new Set(objects.flatMap((bundle) => Object.values(bundle).map((part) => part?.blob)).filter(Boolean));
  const left = {
    output_blobs: (result.output_blobs ?? []).filter((id) => !inDisplay.has(id)),
    files: (result.files ?? []).filter((file) => !inDisplay.has(file.blob_id)),
  };
  return [
    result.error ? resultView({ error: result.error }) : null,
    objects.map((bundle, at) => displayed(bundle, `${at + 1} of cell ${number}`, signal)),
    leftOut(result.left_out),
    value(result, objects.length > 0),
    may("blobs") ? resultView(left, { signal }) : null,
  ];
}

/** What is said of the parts of a long result that were not kept. */
function leftOut(left) {
  if (!left) return null;
  const items = left.items ? `${left.items} ${left.items === 1 ? "item" : "items"} of ${bytes(left.bytes)} were not kept: the result is too long.` : "";
  const earlier = left.earlier_part ? "What an earlier part of the cell has shown is not known." : "";
  return h("p", { class: "warning" }, [items, earlier].filter(Boolean).join(" "));
}

/** The value of the cell, folded if it is displayed already. */
function value({ output: shown, converted }, hasDisplay) {
  if (shown === null || shown === undefined) return null;
  const isWrapped = typeof shown === "object" && Object.keys(shown).join() === "result";
  const plain = isWrapped && (shown.result === null || typeof shown.result !== "object");
  const body = plain ? tree(shown.result) : output(shown, converted);
  const isDisplayed = hasDisplay && (converted ?? []).some((one) => one.path.startsWith("$.result"));
  if (isDisplayed) return add(h("details", { class: "more" }, h("summary", {}, "Value")), body);
  return h("section", {}, h("h3", {}, "Value"), body);
}
