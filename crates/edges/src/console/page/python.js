// Colours Python: a list of texts and spans. Whatever is not understood stays plain text, and the
// texts together are always the program, letter by letter.

import { h } from "./dom.js";

/** Longer programs are shown without colours. */
const LONGEST = 200_000;

const KEYWORDS = new Set(("and as assert async await break case class continue def del elif else except finally for "
  + "from global if import in is lambda match nonlocal not or pass raise return try type while with yield").split(" "));
const VALUES = new Set(["True", "False", "None", "self", "cls", "__name__"]);
const BUILTINS = new Set(("abs all any ascii bin bool bytearray bytes callable chr complex dict dir divmod enumerate eval "
  + "exec filter float format frozenset getattr hasattr hash help hex id input int isinstance issubclass iter len list "
  + "map max memoryview min next object oct open ord pow print property range repr reversed round set slice sorted "
  + "staticmethod str sum super tuple vars zip Exception ValueError TypeError KeyError IndexError RuntimeError "
  + "OSError StopIteration ZeroDivisionError NotImplementedError").split(" "));

/** Each token is tried at one place (sticky), so the work is linear in the length of the program. */
const TOKENS = [
  ["comment", /#[^\n]*/y],
  ["string", /(?:[rRbBfFtTuU]{1,2})?(?:"""(?:[^\\"]|\\[\s\S]|"(?!""))*(?:"""|$)|'''(?:[^\\']|\\[\s\S]|'(?!''))*(?:'''|$)|"(?:[^"\\\n]|\\[\s\S])*"?|'(?:[^'\\\n]|\\[\s\S])*'?)/y],
  ["decorator", /@[\w.]+/y],
  ["number", /(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[jJ]?)/y],
  ["word", /[\p{L}_][\p{L}\p{N}_]*/uy],
  ["space", /\s+/y],
];

/** Tokens with their sorts: `[sort, text]`; the sort is null for plain text. */
export function tokens(program) {
  const found = [];
  const push = (sort, text) => {
    const last = found.at(-1);
    if (last && last[0] === sort) last[1] += text;
    else found.push([sort, text]);
  };
  if (program.length > LONGEST) return [[null, program]];
  let at = 0;
  let before = "";
  while (at < program.length) {
    let text = null;
    let sort = null;
    for (const [name, pattern] of TOKENS) {
      pattern.lastIndex = at;
      const match = pattern.exec(program);
      if (match && match[0]) { text = match[0]; sort = name; break; }
    }
    // A matrix product has a space before it; a decorator begins its line.
    if (sort === "decorator" && !/(^|\n)[ \t]*$/.test(program.slice(Math.max(0, at - 200), at))) { text = "@"; sort = null; }
    if (text === null) text = String.fromCodePoint(program.codePointAt(at));
    push(sort === "word" ? sortOfWord(text, before, program, at) : sort === "space" ? null : sort, text);
    if (sort !== "space") before = text;
    at += text.length;
  }
  return found;
}

function sortOfWord(word, before, program, at) {
  if (before === "def" || before === "class") return "name";
  if (before === ".") return null;
  if (KEYWORDS.has(word)) {
    // `match`, `case` and `type` are names as well.
    const soft = word === "match" || word === "case" || word === "type";
    return soft && !/^\s+[\w"'([{]/.test(program.slice(at + word.length, at + word.length + 40)) ? null : "keyword";
  }
  if (VALUES.has(word)) return "value";
  return BUILTINS.has(word) ? "builtin" : null;
}

/** Nodes that show a program. */
export function highlight(program) {
  return tokens(program).map(([sort, text]) => sort ? h("span", { class: `py-${sort}` }, text) : text);
}
