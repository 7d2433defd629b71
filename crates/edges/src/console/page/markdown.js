// Shows Markdown: headings, paragraphs, lists, tables, code, quotes, emphasis and links. It builds
// elements and sets text, so what an author writes becomes no markup of its own: HTML is shown as the
// text that it is, images as links, and links lead to http, https and mail alone.

import { add, h } from "./dom.js";
import { highlight } from "./python.js";

/** Texts are shown up to here. */
const LONGEST = 256 << 10;
/** Nested lists and quotes are read up to here; deeper ones are shown as text. */
const DEEPEST = 8;
/** The most elements of one document. */
const MOST_NODES = 20_000;

/** Elements that show a text. */
export function markdown(text) {
  const whole = String(text).slice(0, LONGEST).replace(/\r\n?/g, "\n").replace(/^---\n[\s\S]*?\n---[ \t]*(\n|$)/, "");
  const state = { left: MOST_NODES };
  const root = h("div", { class: "prose" });
  add(root, blocks(whole.split("\n"), 0, state));
  if (text.length > LONGEST || state.left <= 0) add(root, h("p", { class: "quiet" }, "The rest is left out."));
  return root;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +)(.*)$/;
const QUOTE = /^ {0,3}> ?/;
const SEPARATOR = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function blocks(lines, depth, state) {
  const made = [];
  let at = 0;
  while (at < lines.length && state.left > 0) {
    const line = lines[at];
    if (line.trim() === "") { at += 1; continue; }
    state.left -= 1;
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    if (fence) {
      let end = at + 1;
      while (end < lines.length && !closes(lines[end], fence[1])) end += 1;
      made.push(code(lines.slice(at + 1, end).join("\n"), fence[2]));
      at = end + 1;
    } else if (heading) {
      // The page has its own first heading.
      made.push(h(`h${Math.min(6, heading[1].length + 1)}`, {}, inline(heading[2], state)));
      at += 1;
    } else if (RULE.test(line)) {
      made.push(h("hr"));
      at += 1;
    } else if (/^ {4}/.test(line)) {
      let end = at;
      while (end < lines.length && (/^ {4}/.test(lines[end]) || lines[end].trim() === "")) end += 1;
      made.push(code(lines.slice(at, end).map((text) => text.slice(4)).join("\n").trimEnd(), ""));
      at = end;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      let end = at;
      while (end < lines.length && QUOTE.test(lines[end])) end += 1;
      const inner = lines.slice(at, end).map((text) => text.replace(QUOTE, ""));
      made.push(h("blockquote", {}, blocks(inner, depth + 1, state)));
      at = end;
    } else if (ITEM.test(line) && depth < DEEPEST) {
      at = list(lines, at, depth, state, made);
    } else if (line.includes("|") && SEPARATOR.test(lines[at + 1] ?? "") && lines[at + 1].includes("-")) {
      at = grid(lines, at, state, made);
    } else {
      const begin = at;
      do at += 1; while (at < lines.length && lines[at].trim() !== "" && !begins(lines[at]));
      made.push(h("p", {}, inline(lines.slice(begin, at).map((text) => text.trimStart()).join("\n"), state)));
    }
  }
  return made;
}

const begins = (line) => FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || ITEM.test(line);
const closes = (line, mark) => line.trim().startsWith(mark) && line.trim().replaceAll(mark[0], "") === "";

function list(lines, begin, depth, state, made) {
  const ordered = /\d/.test(ITEM.exec(lines[begin])[2]);
  const items = [];
  let at = begin;
  while (at < lines.length && state.left > 0) {
    const item = ITEM.exec(lines[at]);
    if (!item || /\d/.test(item[2]) !== ordered) break;
    state.left -= 1;
    const indent = item[1].length + item[2].length + item[3].length;
    const inner = [item[4]];
    at += 1;
    while (at < lines.length) {
      const line = lines[at];
      const deep = line.length - line.trimStart().length >= Math.min(indent, 2);
      if (line.trim() === "" && !/^\s{2,}\S/.test(lines[at + 1] ?? "")) break;
      if (line.trim() !== "" && !deep && begins(line)) break;
      inner.push(line.slice(Math.min(indent, line.length - line.trimStart().length)));
      at += 1;
    }
    const parts = blocks(inner, depth + 1, state);
    // One paragraph alone needs no paragraph around it.
    items.push(h("li", {}, parts[0]?.tagName === "P" ? [[...parts[0].childNodes], parts.slice(1)] : parts));
    while (lines[at]?.trim() === "" && ITEM.test(lines[at + 1] ?? "")) at += 1;
  }
  const start = ordered ? Number.parseInt(ITEM.exec(lines[begin])[2], 10) : 1;
  made.push(h(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, items));
  return at;
}

function grid(lines, begin, state, made) {
  const head = cells(lines[begin]);
  const sides = cells(lines[begin + 1]).map((mark) => /^-+:$/.test(mark.trim()) ? "number" : null);
  const rows = [];
  let at = begin + 2;
  while (at < lines.length && lines[at].trim() !== "" && lines[at].includes("|") && state.left > 0) {
    const row = cells(lines[at]);
    state.left -= head.length;
    rows.push(h("tr", {}, head.map((_, column) => h("td", { class: sides[column] }, inline(row[column] ?? "", state)))));
    at += 1;
  }
  made.push(h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Table" }, h("table", {},
    h("thead", {}, h("tr", {}, head.map((text, column) => h("th", { scope: "col", class: sides[column] }, inline(text, state))))),
    h("tbody", {}, rows))));
  return at;
}

/** The cells of a row; `\|` and bars in code do not separate. */
function cells(line) {
  const found = [""];
  let inCode = false;
  const text = line.trim().replace(/^\|/, "").replace(/([^\\]|^)\|$/, "$1");
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === "\\" && text[at + 1] === "|") { found[found.length - 1] += "|"; at += 1; continue; }
    if (letter === "`") inCode = !inCode;
    if (letter === "|" && !inCode) found.push("");
    else found[found.length - 1] += letter;
  }
  return found.map((cell) => cell.trim());
}

function code(text, language) {
  const shown = h("code");
  if (/^(python|py|python3)$/i.test(language)) add(shown, highlight(text));
  else add(shown, text);
  return h("pre", { tabindex: 0 }, shown);
}

const CODE = /^(`+)([\s\S]*?[^`])\1(?!`)/;
const LINK = /^!?\[((?:[^[\]\\]|\\.){0,500})\]\(\s*<?([^\s()<>]{0,2000})>?(?:\s+"[^"]{0,200}")?\s*\)/;
const AUTO = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/i;
const STRONG = /^(\*\*|__)(?=\S)([\s\S]{0,2000}?\S)\1/;
const EMPHASIS = /^([*_])(?=\S)((?:(?!\1)[\s\S]){0,2000}?\S)\1(?!\w)/;
const STRUCK = /^~~(?=\S)([\s\S]{0,2000}?\S)~~/;

/** The parts of a line: texts and elements. */
function inline(text, state, depth = 0) {
  const parts = [];
  let plain = "";
  const push = (node) => {
    if (plain) parts.push(plain);
    plain = "";
    state.left -= 1;
    parts.push(node);
  };
  let at = 0;
  while (at < text.length) {
    const letter = text[at];
    if (!"\\`[!<*_~\n".includes(letter) || state.left <= 0 || depth > DEEPEST) { plain += letter; at += 1; continue; }
    const rest = text.slice(at, at + 6000);
    const inWord = /\w/.test(text[at - 1] ?? "");
    let found;
    if (letter === "\\" && /[!-/:-@[-`{-~]/.test(rest[1] ?? "")) { plain += rest[1]; at += 2; continue; }
    if (letter === "\n" && /( {2}|\\)$/.test(plain)) { plain = plain.replace(/( {2,}|\\)$/, ""); push(h("br")); at += 1; continue; }
    if (letter === "`" && (found = CODE.exec(rest))) push(h("code", {}, found[2].replace(/^ (.*\S.*) $/, "$1")));
    else if ((letter === "[" || letter === "!") && (found = LINK.exec(rest))) push(link(found[2], inline(found[1], state, depth + 1)));
    else if (letter === "<" && (found = AUTO.exec(rest))) push(link(found[1], [found[1]]));
    else if ((found = STRONG.exec(rest)) && !(letter === "_" && inWord)) push(h("strong", {}, inline(found[2], state, depth + 1)));
    else if ("*_".includes(letter) && (found = EMPHASIS.exec(rest)) && !(letter === "_" && inWord)) push(h("em", {}, inline(found[2], state, depth + 1)));
    else if (letter === "~" && (found = STRUCK.exec(rest))) push(h("s", {}, inline(found[1], state, depth + 1)));
    if (found) { at += found[0].length; continue; }
    plain += letter;
    at += 1;
  }
  if (plain) parts.push(plain);
  return parts;
}

/** A link, if it leads to where links may lead; its text otherwise. */
export function link(target, children) {
  let address = null;
  try {
    address = new URL(target);
  } catch { /* A relative address leads into the skill's folder, which is no page. */ }
  if (!address || !["http:", "https:", "mailto:"].includes(address.protocol)) {
    return h("span", { title: target }, children);
  }
  return h("a", { href: address.href, target: "_blank", rel: "noopener noreferrer" }, children);
}
