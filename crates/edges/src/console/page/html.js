// Shows HTML that a cell displays, such as tables of pandas. It is read tag by tag, and elements are built
// anew: only those listed below, with no attributes except the spans of table cells. So nothing that a
// program writes can load, run or style anything, even where this reader understands a text differently
// from a browser.

import { add, h } from "./dom.js";

/** Texts are read up to here. */
const LONGEST = 256 << 10;
/** Depth to which elements are built. Of deeper ones only the text is shown. */
const DEEPEST = 32;
/** The most elements of one text. */
const MOST_NODES = 20_000;
/** Longest tag whose quotes are respected, in characters. A longer one ends at its first `>`. */
const LONGEST_TAG = 1000;
/** Columns or rows that one cell may span. */
const MOST_SPAN = 1000;

/** The element that is built for each name. Headings rank below those of the page. */
const ELEMENTS = new Map([
  ...["table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "p", "div", "span", "b", "strong", "i", "em", "u", "s", "del", "ins", "mark",
    "small", "sub", "sup", "code", "kbd", "samp", "var", "pre", "blockquote", "ul", "ol", "li", "dl", "dt", "dd", "br", "hr"].map((name) => [name, name]),
  ...["section", "article", "main", "header", "footer", "nav", "aside", "figure", "figcaption", "details", "summary", "center", "address", "form", "fieldset"].map((name) => [name, "div"]),
  ["h1", "h4"], ["h2", "h4"], ["h3", "h4"], ["h4", "h5"], ["h5", "h5"], ["h6", "h5"], ["tt", "code"], ["strike", "s"],
]);

/** Elements that are dropped together with their content. */
const LEFT_OUT = new Set(["script", "style", "template", "noscript", "iframe", "object", "svg", "math", "head", "title", "textarea", "select", "video", "audio", "canvas", "noembed", "noframes", "xmp"]);
/** Dropping these is not worth a remark: the page styles tables itself. */
const UNMISSED = new Set(["style", "head", "title"]);
/** Elements without text that a browser would show. */
const MISSED = new Set(["img", "embed", "input", "button"]);
const VOID = new Set(["br", "hr"]);

/** For each start tag: the open elements that it closes implicitly, and the elements that bound the search. */
const CELLS = ["td", "th"];
const ENDS = new Map([
  ["td", [CELLS, ["table"]]], ["th", [CELLS, ["table"]]], ["tr", [[...CELLS, "tr", "caption"], ["table"]]],
  ...["thead", "tbody", "tfoot"].map((name) => [name, [[...CELLS, "tr", "caption", "thead", "tbody", "tfoot"], ["table"]]]),
  ["li", [["li"], ["ul", "ol", "table", ...CELLS]]], ["dt", [["dt", "dd"], ["dl", "table", ...CELLS]]], ["dd", [["dt", "dd"], ["dl", "table", ...CELLS]]],
  ["p", [["p"], ["table", "div", "li", "blockquote", ...CELLS]]],
]);
const TABLE_PARTS = new Set(["thead", "tbody", "tfoot", "tr", "th", "td", "caption"]);

/**
 * Elements that show an HTML text. `isEmpty` is true if no text is left to show, `isCut` if something that
 * a browser would show was dropped.
 */
export function readHtml(text) {
  const whole = String(text).slice(0, LONGEST);
  const reader = new Reader(h("div", { class: "prose html" }));
  reader.isCut = whole.length < String(text).length;
  reader.read(whole);
  const { root, isCut } = reader;
  return { node: root, isCut, isEmpty: root.textContent.trim() === "" };
}

class Reader {
  constructor(root) {
    this.root = root;
    this.open = [{ name: null, node: root }];
    this.left = MOST_NODES;
    this.isCut = false;
  }

  read(text) {
    let at = 0;
    const begin = /<[a-z/!?]/gi;
    while (at < text.length) {
      begin.lastIndex = at;
      const mark = begin.exec(text)?.index ?? text.length;
      if (mark > at) this.text(text.slice(at, mark));
      if (mark >= text.length) return;
      if (text.startsWith("<!--", mark)) at = behind(text, "-->", mark + 4);
      else if (text[mark + 1] === "!" || text[mark + 1] === "?") at = behind(text, ">", mark);
      else at = this.tag(text, mark);
    }
  }

  /** Reads a tag, with its content if that is dropped. Returns the position behind it. */
  tag(text, mark) {
    const end = endOfTag(text, mark);
    if (end < 0) { this.text(text.slice(mark)); return text.length; }
    const found = /^<(\/?)([a-z][a-z0-9]*)/i.exec(text.slice(mark, Math.min(end, mark + 40)));
    if (!found) return end + 1;
    const name = found[2].toLowerCase();
    if (found[1]) { this.close(name); return end + 1; }
    if (!LEFT_OUT.has(name)) {
      if (MISSED.has(name)) this.isCut = true;
      this.begin(name, text.slice(mark, Math.min(end, mark + LONGEST_TAG)));
      return end + 1;
    }
    if (!UNMISSED.has(name)) this.isCut = true;
    const ending = new RegExp(`</${name}`, "gi");
    ending.lastIndex = end + 1;
    return ending.test(text) ? behind(text, ">", ending.lastIndex) : text.length;
  }

  begin(name, tag) {
    let shown = ELEMENTS.get(name);
    if (!shown) return;
    // Outside a table, a part of one is a plain block.
    if (TABLE_PARTS.has(name) && !this.open.some((one) => one.name === "table")) shown = "div";
    const [ended, bounds] = ENDS.get(name) ?? [[], []];
    let cut = this.open.length;
    for (let at = this.open.length - 1; at > 0 && !bounds.includes(this.open[at].name); at -= 1) {
      if (ended.includes(this.open[at].name)) cut = at;
    }
    this.open.length = cut;
    if (this.left <= 0 || this.open.length > DEEPEST) { this.isCut ||= this.left <= 0; return; }
    this.left -= 1;
    const node = h(shown, spans(shown, tag));
    const outermost = name === "table" && !this.open.some((one) => one.name === "table");
    add(this.open.at(-1).node, outermost ? h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Table" }, node) : node);
    if (!VOID.has(name)) this.open.push({ name, node });
  }

  close(name) {
    for (let at = this.open.length - 1; at > 0; at -= 1) {
      if (this.open[at].name === name) { this.open.length = at; return; }
      // An end tag inside a cell never closes an element outside it.
      if (this.open[at].name === "table" || (CELLS.includes(this.open[at].name) && !TABLE_PARTS.has(name) && name !== "table")) return;
    }
  }

  text(written) {
    const { name, node } = this.open.at(-1);
    const isBetweenCells = name === "table" || (TABLE_PARTS.has(name) && !CELLS.includes(name) && name !== "caption");
    if (isBetweenCells && written.trim() === "") return;
    add(node, written.includes("&") ? written.replace(ENTITY, entity) : written);
  }
}

function behind(text, mark, from) {
  const found = text.indexOf(mark, from);
  return found < 0 ? text.length : found + mark.length;
}

/** The position of the `>` that ends the tag; -1 if there is none. */
function endOfTag(text, mark) {
  let quote = null;
  for (let at = mark + 1; at < text.length && at < mark + LONGEST_TAG; at += 1) {
    const letter = text[at];
    if (quote) { if (letter === quote) quote = null; }
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === ">") return at;
  }
  return text.indexOf(">", mark);
}

function spans(name, tag) {
  if (name !== "td" && name !== "th") return {};
  const found = {};
  for (const [, attribute, digits] of tag.matchAll(/\s(colspan|rowspan)\s*=\s*["']?(\d{1,4})/gi)) {
    const span = Number(digits);
    if (span > 1 && span <= MOST_SPAN) found[attribute.toLowerCase()] = span;
  }
  return found;
}

const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));?/g;
const NAMED = new Map(Object.entries({
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—", hellip: "…", times: "×", minus: "−", plusmn: "±", deg: "°",
  micro: "µ", middot: "·", bull: "•", larr: "←", rarr: "→", uarr: "↑", darr: "↓", le: "≤", ge: "≥", ne: "≠", infin: "∞", euro: "€", pound: "£", copy: "©",
  alpha: "α", beta: "β", gamma: "γ", delta: "δ", mu: "μ", pi: "π", sigma: "σ", sum: "∑", radic: "√", check: "✓",
}));

/** The character of an entity; an unknown name stays as it is written. */
function entity(written, decimal, hexadecimal, name) {
  if (name) return NAMED.get(name) ?? written;
  const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16);
  const isLetter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isLetter ? String.fromCodePoint(code) : "\ufffd";
}
