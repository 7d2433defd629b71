// Skills: search, what one is, its files, and a form that executes it.

import { call, may, upload } from "./api.js";
import { dropZone } from "./blobs.js";
import { add, button, copy, empty, field, fill, h, problem, tabs } from "./dom.js";
import { markdown } from "./markdown.js";
import { tree } from "./preview.js";
import { highlight } from "./python.js";
import { runPanel } from "./run_panel.js";

/** Skills that are listed at most. */
const MOST = 2000;

export async function skillsPage(main, { parts, query, signal }) {
  if (parts[0]) return one(main, parts[0], query, signal);
  const input = h("input", { type: "search", placeholder: "Name, description or tag", value: query.get("q") ?? "" });
  const count = h("p", { class: "quiet", role: "status" });
  const list = h("ul", { class: "skill-list" });
  add(main, h("h1", {}, "Skills"), h("div", { class: "search" }, field("Search", input), count), list);
  const skills = [];
  let cursor = null;
  do {
    const page = await call("list_skills", { detail: "summary", limit: 500, ...(cursor ? { cursor } : {}) }, { signal });
    skills.push(...page.skills);
    cursor = page.next_cursor;
  } while (cursor && skills.length < MOST);
  const draw = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = skills.filter((skill) => {
      const text = [skill.name, skill.description, ...(skill.tags ?? [])].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    });
    fill(count, `${found.length} of ${skills.length}`);
    fill(list, found.length ? found.map(entry) : h("li", {}, empty(skills.length ? "No skill fits" : "There are no skills",
      skills.length ? "Try fewer words." : "Put a folder with a SKILL.md into one of the folders of skills.roots.")));
  };
  input.addEventListener("input", draw);
  draw();
}

function entry(skill) {
  return h("li", {}, h("a", { href: `#/skills/${encodeURIComponent(skill.name)}` },
    h("span", { class: "skill-name" }, h("strong", {}, skill.name), h("span", { class: "quiet" }, skill.version),
      skill.kind === "action" ? null : h("span", { class: "tag" }, skill.kind)),
    h("span", { class: "skill-about" }, skill.description)),
  (skill.tags ?? []).length ? h("p", { class: "tags" }, skill.tags.slice(0, 8).map((tag) => h("span", { class: "tag" }, tag))) : null);
}

async function one(main, name, query, signal) {
  const version = query.get("version");
  const which = version ? { name, version } : { name };
  const { skill } = await call("describe_skill", { ...which, detail: "full" }, { signal });
  const { manifest } = skill;
  const runs = manifest.kind === "action" && may("execute");
  add(main, h("p", { class: "trail" }, h("a", { href: "#/skills" }, "Skills")),
    h("div", { class: "title" }, h("h1", {}, manifest.name), h("span", { class: "quiet" }, manifest.version ?? "")),
    h("p", { class: "lead" }, manifest.description ?? skill.skill_md_frontmatter?.short_description ?? ""));
  const about = [
    ["Read me", (panel) => add(panel, h("article", { class: "boxed" }, markdown(skill.skill_md_content ?? "")))],
    ["Manifest", (panel) => add(panel, h("div", { class: "boxed" }, tree(manifest)), skill.input_schema
      ? [h("h2", {}, "Schema of the arguments"), h("div", { class: "boxed" }, tree(skill.input_schema))] : null)],
    ["Files", (panel) => files(panel, which, manifest, skill.skill_md_content ?? "", signal)],
  ];
  // A skill without an entrypoint has scripts.
  const isScripted = !manifest.runtime && (skill.scripts ?? []).length > 0;
  const form = isScripted ? { inputs: scriptInputs(skill.scripts) } : manifest;
  const entries = runs ? [["Execute", (panel) => executor(panel, which, form, signal)], ...about] : about;
  add(main, tabs("Parts of the skill", entries, { chosen: 0 }));
}

/** Files that the protocol can read: it has no list, so those that the manifest and SKILL.md name, and any other by its path. */
function files(panel, which, manifest, content, signal) {
  const offered = new Set();
  const place = h("div", {});
  const read = async (path) => {
    fill(place, h("p", { class: "quiet" }, "Loading…"));
    try {
      const file = await call("read_skill_file", { ...which, path }, { signal });
      const shown = file.encoding === "base64" ? h("p", { class: "quiet" }, `Not a text: ${file.content.length} characters of base64.`)
        : h("pre", { tabindex: 0 }, path.endsWith(".py") ? highlight(file.content) : file.content);
      fill(place, h("div", { class: "preview-bar" }, h("strong", { class: "mono" }, path), button("Copy", () => copy(file.content, "The file"))), shown);
    } catch (error) {
      fill(place, problem(error));
    }
  };
  const chips = h("div", { class: "chips" });
  const offer = (path) => {
    if (offered.has(path) || offered.size > 40) return;
    offered.add(path);
    add(chips, button(path, () => read(path), { class: "chip mono" }));
  };
  const path = h("input", { type: "text", placeholder: "code/helper.py", maxlength: 1024 });
  add(panel, chips, h("form", { class: "inline", on: { submit: (event) => { event.preventDefault(); if (path.value) read(path.value); } } },
    field("Another file", path, "A path below the skill's folder."), h("button", { type: "submit" }, "Open")), place);
  const entry = manifest.runtime?.entrypoint;
  for (const known of ["SKILL.md", "skill.toml", entry]) if (known) offer(known);
  for (const [, found] of content.matchAll(/\]\((?:\.\/)?([\w-][\w./-]{0,200})\)/g)) offer(found);
  read(entry ?? "SKILL.md");
}

/** The longest arguments that the tab remembers, as JSON. */
const REMEMBERED = 100_000;

/** Keeps the arguments of a skill in the tab, for the next time that its form is shown. */
export function rememberArguments(name, args) {
  const text = JSON.stringify(args);
  if (text.length <= REMEMBERED) sessionStorage.setItem(`wardian-args:${name}`, text);
}

/** What the call of a script takes, as `[inputs]` has it. */
function scriptInputs(scripts) {
  const help = scripts.filter((one) => one.help).slice(0, 12).map((one) => `${one.path}: ${one.help}`).join("; ");
  return {
    script: { type: "string", required: true, enum: scripts.map((one) => one.path), description: help },
    argv: { type: "array", description: "The command line of the script, such as [\"--help\"]." },
    stdin: { type: "string", description: "Text on its standard input." },
  };
}

/** The form of `[inputs]` or of scripts, and the panel that executes the skill. */
function executor(panel, which, manifest, signal) {
  const paramsOf = (args) => manifest.inputs?.script?.enum && !manifest.name ? { ...which, ...args } : { ...which, args };
  const inputs = Object.entries(manifest.inputs ?? {});
  let given = {};
  try {
    given = JSON.parse(sessionStorage.getItem(`wardian-args:${which.name}`) ?? "{}") ?? {};
  } catch { /* Begin with an empty form. */ }
  const required = inputs.filter(([, input]) => input?.required);
  const others = inputs.filter(([, input]) => !input?.required);
  const controls = new Map();
  const draw = ([name, input]) => {
    const control = inputControl(name, input ?? {}, Object.hasOwn(given, name) ? given[name] : undefined, signal);
    controls.set(name, control);
    return control.node;
  };
  // What was typed stays in the tab, also while another page shows. What cannot be read yet is left out.
  const remember = () => {
    const typed = {};
    for (const [name, control] of controls) {
      try {
        const value = control.read();
        if (value !== undefined) typed[name] = value;
      } catch { /* It is still being typed. */ }
    }
    rememberArguments(which.name, typed);
  };
  const submit = h("button", { type: "submit", class: "primary" }, "Execute");
  const place = h("div", {});
  const run = runPanel({ hint: "Fill in the form and execute the skill: its log, output and blobs appear here.", onbusy: (busy) => { submit.disabled = busy; } });
  const form = h("form", {
    class: "inputs", "aria-label": "Arguments", novalidate: true, on: {
      input: remember, change: remember,
      submit: (event) => {
        event.preventDefault();
        fill(place);
        try {
          const args = {};
          for (const [name, control] of controls) {
            const value = control.read();
            if (value !== undefined) args[name] = value;
          }
          rememberArguments(which.name, args);
          run.start("execute_skill", paramsOf(args));
        } catch (error) {
          fill(place, problem(error));
          error.control?.focus();
        }
      },
    },
  }, required.map(draw), others.length && required.length
    ? h("details", { class: "more", open: others.length <= 4 }, h("summary", {}, `${others.length} optional inputs`), others.map(draw)) : others.map(draw),
  inputs.length ? null : empty("This skill takes no inputs"), place, h("div", { class: "actions" }, submit,
    button("Copy as a call", () => {
      try {
        const args = Object.fromEntries([...controls].map(([name, control]) => [name, control.read()]).filter(([, value]) => value !== undefined));
        copy(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "execute_skill", params: paramsOf(args) }), "The call");
      } catch (error) {
        fill(place, problem(error));
      }
    })));
  add(panel, h("div", { class: "split" }, form, run.node));
}

/** The control of an input: its node, and what reads its value (undefined if it is left out). */
export function inputControl(name, input, given, signal) {
  const bounds = [
    input.minimum !== undefined ? `at least ${input.minimum}` : null, input.maximum !== undefined ? `at most ${input.maximum}` : null,
    input.default !== undefined ? `default ${JSON.stringify(input.default)}` : null,
  ].filter(Boolean).join(", ");
  const hint = [input.description, bounds && `(${bounds})`].filter(Boolean).join(" ");
  const mark = [h("span", { class: "quiet" }, ` ${input.type ?? "any"}`), input.required ? h("span", { class: "required" }, " required") : null];
  const wrong = (control, message) => Object.assign(new Error(`${name}: ${message}`), { control });
  const needed = (control, text) => {
    if (text !== "") return true;
    if (input.required) throw wrong(control, "is required");
    return false;
  };
  const shown = given === undefined ? "" : typeof given === "string" ? given : JSON.stringify(given);
  if (Array.isArray(input.enum)) {
    const control = h("select", {}, input.required ? null : h("option", { value: "" }, "–"),
      input.enum.map((value) => h("option", { value: JSON.stringify(value), selected: given !== undefined ? value === given : input.required && value === input.default }, String(value))));
    return { node: field(name, control, hint, mark), read: () => needed(control, control.value) ? JSON.parse(control.value) : undefined };
  }
  if (input.type === "boolean") {
    const control = h("select", {}, h("option", { value: "" }, input.default === undefined ? "–" : `default: ${input.default ? "yes" : "no"}`),
      h("option", { value: "true", selected: given === true }, "yes"), h("option", { value: "false", selected: given === false }, "no"));
    return { node: field(name, control, hint, mark), read: () => needed(control, control.value) ? control.value === "true" : undefined };
  }
  if (input.type === "blob") {
    const control = h("input", { type: "text", placeholder: "blob:…", value: shown, class: "mono" });
    const node = field(name, control, hint, mark);
    if (may("blobs")) add(node, dropZone(async ([file]) => { control.value = (await upload(file)).blob_id; control.dispatchEvent(new Event("input", { bubbles: true })); }, "Drop a file"));
    return { node, read: () => needed(control, control.value.trim()) ? control.value.trim() : undefined };
  }
  if (input.type === "integer" || input.type === "number") {
    const control = h("input", { type: "text", inputmode: input.type === "integer" ? "numeric" : "decimal", value: shown });
    return {
      node: field(name, control, hint, mark), read: () => {
        const text = control.value.trim();
        if (!needed(control, text)) return undefined;
        if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) throw wrong(control, "must be a number");
        return Number(text);
      },
    };
  }
  if (input.type === "string") {
    const long = !(input.maxLength <= 200) && /query|text|template|content|markdown|html|code|body/.test(name);
    const control = long ? h("textarea", { rows: 4, value: shown, spellcheck: "false" }) : h("input", { type: "text", value: shown });
    return { node: field(name, control, hint, mark), read: () => needed(control, control.value) ? control.value : undefined };
  }
  const control = h("textarea", { rows: 3, value: given === undefined ? "" : JSON.stringify(given, null, 1), spellcheck: "false", class: "mono", placeholder: input.type === "array" ? "[…]" : input.type === "object" ? "{…}" : "JSON" });
  return {
    node: field(name, control, hint, mark), read: () => {
      const text = control.value.trim();
      if (!needed(control, text)) return undefined;
      try {
        return JSON.parse(text);
      } catch {
        if (!input.type || input.type === "any") return text;
        throw wrong(control, `must be JSON: ${input.type === "array" ? '["a", "b"]' : '{"a": 1}'}`);
      }
    },
  };
}
