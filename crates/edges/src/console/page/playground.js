// The playground: a program, its arguments, skills and blobs, and a run of it.

import { call, getJson, may, upload } from "./api.js";
import { dropZone } from "./blobs.js";
import { add, button, copy, field, fill, h, note, problem } from "./dom.js";
import { editor } from "./editor.js";
import { bytes, short } from "./format.js";
import { runPanel } from "./run_panel.js";

/** What was typed, kept in the tab. */
const DRAFT = "wardian-draft";

const FIRST = `import pandas as pd


def main(args):
    rows = pd.DataFrame({
        "city": ["Bern", "Zürich", "Basel"],
        "people": [134, 448, 176],
    })
    print(rows)
    largest = rows.loc[rows.people.idxmax()]
    return {
        "largest": largest.city,
        "rows": rows.to_dict("records"),
    }
`;

function readDraft() {
  try {
    const draft = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null");
    if (typeof draft?.code === "string" && typeof draft.args === "string" && Array.isArray(draft.skills) && Array.isArray(draft.blobs)) return draft;
  } catch { /* Begin with the example. */ }
  return { code: FIRST, args: "{}", label: "", skills: [], blobs: [], reproducible: false, keep: true };
}

export async function playgroundPage(main, { query, signal }) {
  const draft = readDraft();
  const keep = () => {
    const text = JSON.stringify(draft);
    if (text.length < 500_000) sessionStorage.setItem(DRAFT, text);
  };
  const place = h("div", {});
  if (query.get("run")) {
    try {
      Object.assign(draft, await programOf(query.get("run"), signal));
      add(place, h("p", { class: "quiet" }, "The program of ", h("a", { href: `#/runs/${encodeURIComponent(query.get("run"))}` }, short(query.get("run"), 20))));
    } catch (error) {
      add(place, problem(error));
    }
  }
  if (query.get("blob") && !draft.blobs.some((blob) => blob.id === query.get("blob"))) draft.blobs.push({ id: query.get("blob"), name: null });

  let latest = null;
  const code = editor("Program", draft.code, { onrun: () => run(), onchange: (text) => { draft.code = text; keep(); } });
  const args = h("textarea", { rows: 3, class: "mono", spellcheck: "false", value: draft.args });
  args.addEventListener("input", () => { draft.args = args.value; keep(); });
  const reproducible = h("input", { type: "checkbox", checked: draft.reproducible });
  reproducible.addEventListener("change", () => { draft.reproducible = reproducible.checked; keep(); });
  reproducible.id = "reproducible";
  const keeping = h("input", { type: "checkbox", checked: draft.keep !== false, id: "keep-files" });
  keeping.addEventListener("change", () => { draft.keep = keeping.checked; keep(); });
  const label = h("input", { type: "text", maxlength: 200, value: draft.label ?? "", placeholder: "The first line of the program" });
  label.addEventListener("input", () => { draft.label = label.value; keep(); });
  const start = button("Run", () => run(), { class: "primary", title: "Control and Enter" });
  const panel = runPanel({
    jump: (line) => code.jump(line), onbusy: (busy) => { start.disabled = busy; }, onend: (result) => { latest = result; },
    hint: "Run the program: what it prints and returns appears here. Control and Enter runs it, too.",
  });

  async function run() {
    fill(place);
    let values;
    try {
      values = JSON.parse(args.value.trim() || "{}");
      if (values === null || typeof values !== "object" || Array.isArray(values)) throw new Error("not an object");
    } catch {
      fill(place, problem(new Error("the arguments must be a JSON object, such as {\"rows\": 3}")));
      args.focus();
      return;
    }
    const params = { language: "python", code: code.text };
    if (Object.keys(values).length) params.args = values;
    if (draft.skills.length) params.mount_skills = draft.skills;
    if (draft.blobs.length) params.input_blobs = draft.blobs.map((blob) => blob.id);
    if (reproducible.checked) params.reproducible = true;
    if (label.value.trim()) params.label = label.value.trim();
    params.keep_files = keeping.checked;
    latest = null;
    await panel.start("run_code", params);
  }

  async function share() {
    if (!latest) { note("Run the program first: a run is shared, not a draft"); return; }
    try {
      await programOf(latest.run_id, signal);
      await copy(`${location.origin}/console#/playground?run=${latest.run_id}`, "The link");
    } catch (error) {
      fill(place, problem(error), h("p", { class: "quiet" }, "A run is shared by its record. The operator keeps programs in records with ",
        h("code", {}, "records.programs = true"), "."));
    }
  }

  add(main, h("div", { class: "title" }, h("h1", {}, "Playground"), h("div", { class: "actions" }, start,
    button("Share", share), button("Reset", () => { sessionStorage.removeItem(DRAFT); location.hash = location.hash.startsWith("#/playground?") ? "#/playground" : "#/playground?new=1"; }))),
  place, h("div", { class: "split play" }, h("div", {}, code.node, h("div", { class: "settings" },
    field("Arguments", args, "A JSON object, which main gets."),
    field("Title", label, "Shown in lists of runs."),
    h("div", { class: "field check" }, keeping, h("label", { for: "keep-files" }, "Keep files"),
      h("p", { class: "hint" }, "Files that the program leaves in its working directory can be downloaded.")),
    h("div", { class: "field check" }, reproducible, h("label", { for: "reproducible" }, "Reproducible"),
      h("p", { class: "hint" }, "Fixed clock and seed: the run can be repeated, verified and shared.")),
    may("discover") ? skillPicker(draft, keep, signal) : null, may("blobs") ? blobPicker(draft, keep, code) : null)), panel.node));
}

/** What the playground needs to run the program of a record again. */
export async function programOf(id, signal) {
  const path = `/v1/runs/${encodeURIComponent(id)}`;
  // A record that was just handed over may not be written yet.
  const run = await getJson(`${path}?wait_ms=3000`, { signal });
  if (run.status !== "ended") throw new Error("this run has not ended");
  if (run.kind !== "run_code") throw new Error("this run executed a skill, and no code of its own");
  const known = {
    label: run.label ?? "", reproducible: Boolean(run.reproducible), skills: (run.mounted_skills ?? []).map((skill) => skill.name),
    blobs: (run.input_blobs ?? []).map((blob) => ({ id: blob, name: null })),
  };
  try {
    const { code, arguments: args } = await getJson(`${path}/content`, { signal });
    if (code && !code.cut && args && !args.cut) return { ...known, code: code.text, args: args.text };
  } catch (error) {
    if (!run.reproducible) throw error;
  }
  if (!run.reproducible) throw new Error("only the beginning of this program is kept");
  const { inputs } = await getJson(`${path}/record`, { signal });
  const source = inputs?.program?.code?.source?.text;
  if (typeof source !== "string") throw new Error("the document of this run has no code");
  return { ...known, code: source, args: inputs.arguments?.text ?? "{}" };
}

function skillPicker(draft, keep, signal) {
  const chosen = h("div", { class: "chips" });
  const list = h("datalist", { id: "skill-names" });
  const input = h("input", { type: "text", list: "skill-names", placeholder: "data.csv.profile" });
  const draw = () => fill(chosen, draft.skills.map((name) => h("span", { class: "chip" }, name,
    button("×", () => { draft.skills = draft.skills.filter((other) => other !== name); keep(); draw(); input.focus(); }, { class: "plain", "aria-label": `Do not mount ${name}` }))));
  const take = () => {
    const name = input.value.trim();
    if (name && !draft.skills.includes(name)) { draft.skills.push(name); keep(); draw(); }
    input.value = "";
  };
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); take(); } });
  input.addEventListener("change", take);
  call("list_skills", { limit: 500 }, { signal }).then(({ skills }) => fill(list, skills.map((skill) => h("option", { value: skill.name })))).catch(() => {});
  draw();
  return h("div", {}, field("Mounted skills", input, "Import them: from skills.data.csv.profile import main"), list, chosen);
}

function blobPicker(draft, keep, code) {
  const chosen = h("div", { class: "chips" });
  const draw = () => fill(chosen, draft.blobs.map((blob) => h("span", { class: "chip" },
    button(blob.name ?? short(blob.id), () => { const { area } = code; area.focus(); area.setRangeText(JSON.stringify(`/blobs/${blob.id}`), area.selectionStart, area.selectionEnd, "end"); area.dispatchEvent(new Event("input")); },
      { class: "plain", title: `Write the path of ${blob.id}` }),
    blob.size === undefined ? null : h("span", { class: "quiet" }, bytes(blob.size)),
    button("×", () => { draft.blobs = draft.blobs.filter((other) => other.id !== blob.id); keep(); draw(); }, { class: "plain", "aria-label": `Do not mount ${blob.name ?? blob.id}` }))));
  draw();
  return h("div", { class: "field" }, h("span", { class: "label" }, "Blobs"), dropZone(async (files) => {
    for (const file of files) {
      const { blob_id: id, size_bytes: size } = await upload(file);
      if (!draft.blobs.some((blob) => blob.id === id)) draft.blobs.push({ id, name: file.name, size });
    }
    keep();
    draw();
  }, "Drop files to mount them"), chosen, draft.blobs.length ? h("p", { class: "hint" }, "A click on a name writes its path into the program.") : null);
}
