// Tests of the modules that read text: Markdown, Python, CSV, metrics, events. They run in the browser
// that the console is made for. The page's title becomes the result.

import { readEvents } from "/console/api.js";
import { numberColumns, parse, separator } from "/console/csv.js";
import { h } from "/console/dom.js";
import { ago, bytes, micros, short } from "/console/format.js";
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
