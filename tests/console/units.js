// Tests of the modules that read text: Markdown, HTML, Python, CSV, metrics, events. They run in the browser
// that the console is made for. The page's title becomes the result.

import { readEvents } from "/console/api.js";
import { isLeft, rowsOf } from "/console/checkpoints.js";
import { numberColumns, parse, separator } from "/console/csv.js";
import { formsOf } from "/console/display.js";
import { h } from "/console/dom.js";
import { ago, bytes, micros, short, until } from "/console/format.js";
import { readHtml } from "/console/html.js";
import { link, markdown } from "/console/markdown.js";
import { perMinute, readMetrics } from "/console/overview.js";
import { namesIn, output, sortOf, tree } from "/console/preview.js";
import { highlight, tokens } from "/console/python.js";
import { inputControl } from "/console/skills.js";

const failures = [];
let done = 0;

function same(found, expected, what) {
  done += 1;
  const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
  if (one !== other) failures.push(`${what}: ${one} instead of ${other}`);
}

const html = (text) => markdown(text).innerHTML;
const throws = (act) => {
  try { act(); return null; } catch (error) { return error.message; }
};

// Markdown
same(html("# One\ntext *a* **b** `c`"), "<h2>One</h2><p>text <em>a</em> <strong>b</strong> <code>c</code></p>", "inline");
same(html("---\nname: x\n---\n\nText"), "<p>Text</p>", "frontmatter is left out");
same(html("- a\n- b\n  - c\n\n1. x\n2. y"), "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>x</li><li>y</li></ol>", "lists");
same(html("3. x"), '<ol start="3"><li>x</li></ol>', "a list that begins elsewhere");
same(html("> a\n> b"), "<blockquote><p>a\nb</p></blockquote>", "quote");
same(html("```\n<b>\n```"), '<pre tabindex="0"><code>&lt;b&gt;\n</code></pre>'.replace("\n</code>", "</code>"), "code is text");
same(html("<b onclick=x>y</b> <script>z</script>"), "<p>&lt;b onclick=x&gt;y&lt;/b&gt; &lt;script&gt;z&lt;/script&gt;</p>", "HTML is text");
same(markdown("| a | b |\n| --- | --: |\n| `x|y` | 2 \\| 3 |").querySelectorAll("td").length, 2, "bars in cells");
same([...markdown("| a | b |\n|---|---|\n| `x|y` | 2 \\| 3 |").querySelectorAll("td")].map((cell) => cell.textContent), ["x|y", "2 | 3"], "cells");
same(html("snake_case_name and 2*3*4"), "<p>snake_case_name and 2*3*4</p>", "underscores within words");
same(markdown("[x](https://a.example/?q=1)").querySelector("a").href, "https://a.example/?q=1", "link");
for (const target of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "blob:http://x/y", "file:///etc/passwd", "\u0001javascript:x", "java\tscript:x", "//evil.example", "relative.md", "#/runs"]) {
  same(link(target, ["x"]).tagName, "SPAN", `no link to ${target}`);
}
same(markdown("![x](https://a.example/y.png)").querySelectorAll("img").length, 0, "no pictures of others");
same(markdown("> ".repeat(500) + "x").querySelectorAll("blockquote").length <= 9, true, "depth of quotes");
same(markdown("- ".repeat(500) + "x").querySelectorAll("ul").length <= 9, true, "depth of lists");
same(markdown("`a` ".repeat(50_000)).querySelectorAll("*").length <= 20_010, true, "number of elements");
for (const [name, text] of [["brackets", "[".repeat(60_000)], ["stars", "*a ".repeat(20_000)], ["ticks", "`".repeat(60_000)], ["bars", "|".repeat(60_000)], ["nested", "**_".repeat(5000)], ["angles", "<http://".repeat(8000)], ["fences", "```\n".repeat(20_000)]]) {
  markdown(text);
  same(true, true, `${name} have an end`);
}

// HTML
const shown = (text) => readHtml(text).node.innerHTML;
const inTable = (text) => readHtml(text).node.querySelector("table")?.outerHTML;
same(shown("<p class=x onclick=y style='z'>a <B>b</B><br>c"), "<p>a <b>b</b><br>c</p>", "elements without their attributes");
same(inTable("<table border=1><tr><td colspan=2 rowspan='3' style=x onload=y>1<th colspan=0 rowspan=99999>2<tr><td>3</table>"),
  '<table><tr><td colspan="2" rowspan="3">1</td><th>2</th></tr><tr><td>3</td></tr></table>', "cells end each other, and span");
same(inTable("<div><style scoped>\n td { color: red }\n</style>\n<table>\n <thead>\n <tr>\n <th></th>\n <th>x</th>\n </tr>\n </thead>\n<tbody><tr><td>1</td></tr></tbody></table>\n</div>"),
  "<table><thead><tr><th></th><th>x</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>", "a frame of pandas");
same(readHtml("<table><tr><td>a</div></p>b<table><tr><td>c</td></tr></table>d</td></tr></table>").node.querySelectorAll("td").length, 2, "a table within a cell");
same(readHtml("<table><tr><td>a</div></p>b<table><tr><td>c</td></tr></table>d</td></tr></table>").node.querySelectorAll(".scroller").length, 1, "one frame around both");
same(shown("<tr><td>a</td></tr>"), "<div><div>a</div></div>", "cells without a table");
same(shown("<ul><li>a<li>b<ul><li>c</ul></ul><p>x<p>y"), "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><p>x</p><p>y</p>", "ends that are left out");
same(shown("<h1>a</h1><section>b</section>"), "<h4>a</h4><div>b</div>", "headings and parts");
same(readHtml("&lt;b&gt; &amp;amp; &#8364;&#x41; &eacute; &nosuch; &#0;&#xd800;&#x110000; & &;").node.textContent, "<b> &amp; €A &eacute; &nosuch; \ufffd\ufffd\ufffd & &;", "entities are read once");
same(readHtml('<p title="a>b">c</p><!-- <b>d</b> --><!doctype html><?x?>e').node.textContent, "ce", "quotes, comments, declarations");
same(readHtml("1 < 2, a<b").node.textContent, "1 < 2, a<b", "a text that is no tag");
for (const text of ["<script>a</script>", "<style>a", "<template><b>a</b></template>", "<svg><text>a</text></svg >", "<iframe srcdoc='a'></iframe>", "<xmp>a</xmp>", "<title>a</title>", "<textarea>a</textarea>"]) {
  same(readHtml(`${text}`).isEmpty, true, `${text} is left out`);
}
same([readHtml("<style>a</style>b").isCut, readHtml("<SCRIPT>a</SCRIPT>b").isCut, readHtml("<img src=x>b").isCut], [false, true, true], "what is missed");
for (const text of ["<img src=x onerror=window.pwned=1>", "<svg onload=window.pwned=1>", "<a href=javascript:window.pwned=1>x</a>", "<form action=//x><input name=y></form>", "<base href=//x><meta http-equiv=refresh content=0>", "<math><mi xlink:href=x>", "<object data=x>", "<embed src=x>", "<b id=main name=nav class=x>y</b>",
  "<table background=x><td style=x>y", "<x-y onclick=z>", "<scr<script>ipt>window.pwned=1</script>", "</p/onload=x><p/onload=y>", "<p\nonload\n=\nx>", "<td/colspan=2/onload=x>", "<\u0000script>", "<script", "<script>", "<p <script>x", "<link rel=stylesheet href=x>"]) {
  const { node } = readHtml(`<b>${text}</b>`);
  const bad = [...node.querySelectorAll("*")].filter((one) => !/^(B|P|DIV|TABLE|TD)$/.test(one.tagName) || [...one.attributes].some(({ name }) => !["class", "tabindex", "role", "aria-label", "colspan"].includes(name)));
  same(bad.map((one) => one.outerHTML), [], `nothing of ${text}`);
}
for (const [name, text] of [["tags", "<".repeat(200_000)], ["names", "<a".repeat(100_000)], ["quotes", "<a \"".repeat(60_000)], ["apostrophes", "<a '>".repeat(50_000)], ["scripts", "<script></script".repeat(15_000)], ["ends", "</script".repeat(30_000)], ["comments", "<!--".repeat(60_000)],
  ["cells", "<table><td>".repeat(20_000)], ["lists", "<li>".repeat(60_000)], ["depth", "<div>".repeat(50_000)], ["entities", "&#1".repeat(80_000)], ["ampersands", "&".repeat(250_000)], ["spans", `<table><td ${"colspan=".repeat(100)}>`.repeat(300)]]) {
  const began = performance.now();
  const { node } = readHtml(text);
  same(node.querySelectorAll("*").length <= 40_010 && performance.now() - began < 10_000, true, `hostile ${name} have an end`);
}
same(readHtml("<div>".repeat(5000) + "x").node.querySelectorAll("div").length < 40, true, "depth of elements");
same(readHtml("<b>x</b>".repeat(30_000)).isCut, true, "number of elements");

// Displays and checkpoints
same(formsOf({ "text/plain": { text: "a" }, "image/png": { blob: "b" }, "text/html": { text: "c" }, "application/x": { text: "d" } }).map(([kind]) => kind), ["text/html", "image/png", "text/plain"], "the richest form comes first");
same([formsOf({ "text/html": null, "text/plain": {} }), formsOf(JSON.parse('{"__proto__": {"text/html": {"text": "x"}}}'))], [[], []], "forms without content");
const checkpoint = (cell, parent) => ({ id: `c${cell}-x`, parent: parent === null ? null : `c${parent}-x`, cell, created_ms: cell });
const drawn = (rows) => rows.map(({ checkpoint: { cell }, branches, isLoose }) => [cell + (isLoose ? "?" : ""), ...branches.map(drawn)]);
same(drawn(rowsOf([checkpoint(1, null), checkpoint(2, 1), checkpoint(3, 2)])), [["1"], ["2"], ["3"]], "a session that never went back");
same(drawn(rowsOf([checkpoint(1, null), checkpoint(2, 1), checkpoint(3, 2), checkpoint(4, 1), checkpoint(5, 1), checkpoint(6, 5)])), [["1", [["2"], ["3"]], [["4"]]], ["5"], ["6"]], "branches");
same(drawn(rowsOf([checkpoint(10, 9), checkpoint(20, 19), checkpoint(21, 20)])), [["10?"], ["20?"], ["21"]], "checkpoints that were removed");
same(drawn(rowsOf([{ ...checkpoint(2, 3) }, { ...checkpoint(3, 2) }])), [], "a circle has an end");
const line = [checkpoint(10, 9), checkpoint(12, 11), checkpoint(13, 12), checkpoint(15, 13)];
const left = (number, state = "kept") => isLeft({ number, state, checkpoint: `c${number}-x` }, line, "c15-x");
same([left(9), left(11), left(12), left(14), left(14, "rolled_back"), left(15), left(16)], [false, false, false, true, false, false, true], "cells that are not in the state");
same([isLeft({ number: 1, state: "kept", checkpoint: "c1-x" }, [], null), isLeft({ number: 1, state: "kept", checkpoint: "c1-x" }, [], "c2-x")], [true, false], "no checkpoints");

// Python
const sorts = (program) => tokens(program).filter(([sort]) => sort);
same(sorts("def f(x): # c"), [["keyword", "def"], ["name", "f"], ["comment", "# c"]], "def");
same(sorts("x = rb'a\\'b' + f\"{y}\""), [["string", "rb'a\\'b'"], ["string", 'f"{y}"']], "strings");
same(sorts("'''a\n'b''' 1_0.5e-3j 0xFf"), [["string", "'''a\n'b'''"], ["number", "1_0.5e-3j"], ["number", "0xFf"]], "long strings and numbers");
same(sorts("a @ b\n@dec\ndef g(): pass").map(([sort]) => sort), ["decorator", "keyword", "name", "keyword"], "decorators");
same(sorts("match = x.type\nmatch y:\n  case 1: pass").map(([, text]) => text), ["match", "case", "1", "pass"], "soft keywords");
for (const program of ["\"open", "'''open", "\\", "é = 'ü' # 🐍", "f'{x!r:>{w}}'", "a\r\nb\tc\u2028d", "@", "1..real", "\ud800"]) {
  same(tokens(program).map(([, text]) => text).join(""), program, "nothing is lost");
  same(h("pre", {}, highlight(program)).textContent, program, "nothing is lost on the page");
}
for (const program of ["'".repeat(100_000), '"""'.repeat(30_000), "((((".repeat(20_000), "a".repeat(150_000), "0".repeat(150_000), "\\\n".repeat(50_000), "f'{".repeat(30_000)]) {
  same(tokens(program).map(([, text]) => text).join("").length, program.length, "hostile programs have an end");
}

// CSV
same(parse('a,b\n"1,5","say ""x"""\n3,"two\nlines"\n').rows, [["a", "b"], ["1,5", 'say "x"'], ["3", "two\nlines"]], "quotes");
same(parse("\ufeffa;b\r\n1;2\r\n").rows, [["a", "b"], ["1", "2"]], "semicolons, a mark and Windows");
same(separator("a\tb\n1\t2"), "\t", "tabs");
same(parse("a,b\n1,2\n3", { cut: true }), { rows: [["a", "b"], ["1", "2"]], more: true }, "the last row is cut");
same(parse(`${"a,".repeat(500)}\n`).rows[0].length, 60, "columns are bounded");
same(parse("a\n".repeat(5000)).rows.length, 201, "rows are bounded: 200 below the names of the columns");
same(parse(`a,b\n${"x".repeat(9000)},1`).rows[1][0].length, 301, "cells are bounded");
same(parse('"never closed\n1,2').rows.length <= 1, true, "an open quote");
same(numberColumns([["a", "b", "c"], ["1", "x", "-2.5e3"], ["", "2", "50 %"]]), [0, 2], "columns of numbers");

// Elements, formats, kinds
for (const name of ["onclick", "onerror", "style", "srcdoc", "formaction"]) same(throws(() => h("a", { [name]: "x" })), `attribute ${name} is not set here`, name);
same(h("p", {}, "<b>", ["x", null, false, 0]).textContent, "<b>x0", "children");
same([bytes(0), bytes(1023), bytes(1536), bytes(5 << 20)], ["0 B", "1023 B", "1.5 KiB", "5.0 MiB"], "sizes");
same([micros(12), micros(1500), micros(45_000), micros(2_500_000)], ["12 µs", "1.5 ms", "45 ms", "2.5 s"], "times");
same([ago(1000, 1000), ago(0, 90_000), ago(0, 7_200_000)], ["just now", "1 min ago", "2 h ago"], "ages");
same([until(0, 5), until(30_000, 0), until(7_200_000, 0), until(172_800_000, 0)], ["now", "in 30 s", "in 2 h", "in 2 d"], "times to come");
same(short("blob:abcdefghijklmnop", 4), "blob:abcd…", "ids");
same(["text/html", "image/svg+xml", "text/csv; charset=utf-8", "application/x.y+json", "application/xhtml+xml", "IMAGE/PNG", "text/x-python", "video/mp4"].map(sortOf),
  ["text", "picture", "table", "tree", "text", "picture", "python", "bytes"], "kinds");
same(tree({ "<b>": "<i>" }).querySelectorAll("b, i").length, 0, "a tree is text");
same(tree(Array.from({ length: 100_000 }, (_, at) => at)).querySelectorAll("*").length < 500, true, "a large tree is made when it is opened");

// Inputs
const value = (input, text) => {
  const control = inputControl("x", input);
  const node = control.node.querySelector("input, select, textarea");
  node.value = text;
  try { return control.read(); } catch (error) { return `! ${error.message}`; }
};
same(value({ type: "string" }, ""), undefined, "left out");
same(value({ type: "string", required: true }, ""), "! x: is required", "required");
same([value({ type: "integer" }, "12"), value({ type: "number" }, "-1.5e3"), value({ type: "integer" }, "1x")], [12, -1500, "! x: must be a number"], "numbers");
same([value({ type: "boolean" }, "true"), value({ type: "boolean" }, "")], [true, undefined], "booleans");
same([value({ type: "array" }, "[1]"), value({ type: "any" }, "plain"), value({ type: "any" }, "7"), value({ type: "object" }, "{")], [[1], "plain", 7, '! x: must be JSON: {"a": 1}'], "JSON");
same(value({ type: "string", enum: ["a", "b"] }, '"b"'), "b", "choices");

// Metrics and events
const metrics = readMetrics('# HELP x\na_total{t="x",o="y\\"}"} 3\na_total{t="z"} 4.5\nb 1e3\nc{le="+Inf"} 2\nnonsense\n');
same([...metrics], [["a_total", [[{ t: "x", o: 'y"}' }, 3], [{ t: "z" }, 4.5]]], ["b", [[{}, 1000]]], ["c", [[{ le: "+Inf" }, 2]]]], "metrics");
same([perMinute({ age_ms: 0, runs: 9 }, { age_ms: 30_000, runs: 4 }, "runs"), perMinute({ age_ms: 0, runs: 1 }, { age_ms: 60_000, runs: 4 }, "runs"), perMinute({ age_ms: 5, runs: 9 }, { age_ms: 5, runs: 4 }, "runs")], [10, 0, 0], "rates per minute");
const blob = `blob:${"a".repeat(52)}`;
same(namesIn({ charts: { histogram: blob }, list: [blob] }), [[blob, "histogram"], [blob, "list 1"]], "names of members");
same([namesIn(null), namesIn(blob), namesIn({ a: "blob:x" })], [[], [], []], "no names");
const heads = (value, converted) => [...output(value, converted).querySelectorAll("h4")].map((node) => node.textContent);
same(heads({ a: [{ x: 1 }], b: [{ y: 1 }], c: [1], d: [] }), ["a", "b"], "tables of an output");
same(heads({ a: [{ x: 1 }], b: [{ y: 1 }] }, [{ path: "$.b", from: "pandas.DataFrame" }]), ["b", "a"], "a frame comes first");
same(output({ result: Array.from({ length: 300 }, (_, n) => ({ n })) }).querySelector("p").textContent, "The first 200 of 300 rows", "rows of an output");
same(output([{ text: "y".repeat(80), n: 1 }]).querySelectorAll("td.long").length, 1, "long cells are wrapped, others are not");
const pieces = ['event: out', 'put\ndata: {"te', 'xt":"é"}\n\n: still here\n\nevent: response\ndata: {}\n\nevent: cut\nda'];
const heard = [];
await readEvents(new Blob([pieces.join("")]).stream(), (event, data) => heard.push([event, data]));
same(heard, [["output", { text: "é" }], ["response", {}]], "events");

document.title = failures.length ? `failed: ${failures.join(" | ")}` : `passed ${done}`;
