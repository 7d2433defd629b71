// Runs: the list with filters, one run, and two beside each other.

import { getJson, may, request, save, session } from "./api.js";
import { timeline } from "./chart.js";
import { add, button, copy, empty, field, fill, h, problem, tabs } from "./dom.js";
import { ago, bytes, micros, moment, number, short } from "./format.js";
import { preview, tree } from "./preview.js";
import { highlight } from "./python.js";
import { badge, logView, resultView, traceback } from "./run_panel.js";
import { rememberArguments } from "./skills.js";

const OUTCOMES = ["completed", "exception", "timeout", "fuel_exhausted", "memory_limit", "stack_overflow", "sandbox_crash", "cancelled", "interrupted", "refused"];
const PERIODS = [["", "any time"], ["3600000", "last hour"], ["86400000", "last day"], ["604800000", "last week"]];
const PAGE = 50;

export async function runsPage(main, { parts, query, signal }) {
  if (parts[0] === "compare") return compare(main, parts[1], parts[2], signal);
  if (parts[0]) return one(main, parts[0], signal);
  const search = h("input", { type: "search", maxlength: 200, placeholder: "Title, skill or error", value: query.get("search") ?? "" });
  const outcome = h("select", {}, h("option", { value: "" }, "any"), OUTCOMES.map((name) => h("option", { value: name, selected: query.get("outcome") === name }, name.replaceAll("_", " "))));
  const skill = h("input", { type: "text", placeholder: "data.csv.profile", value: query.get("skill") ?? "" });
  const since = h("select", {}, PERIODS.map(([value, text]) => h("option", { value, selected: query.get("since") === value }, text)));
  const tenant = may("admin") ? h("input", { type: "text", maxlength: 64, placeholder: "own; * for all", value: query.get("tenant") ?? "" }) : null;
  const controls = [["search", search], ["outcome", outcome], ["skill", skill], ["since", since], ["tenant", tenant]].filter(([, control]) => control);
  const chosen = new Set();
  const comparing = h("div", { class: "actions", role: "status" });
  const active = h("div", {});
  const list = h("div", {});
  const drawChosen = () => fill(comparing, chosen.size === 2
    ? h("a", { class: "button primary", href: `#/runs/compare/${[...chosen].map(encodeURIComponent).join("/")}` }, "Compare the two") : chosen.size === 1 ? h("span", { class: "quiet" }, "Choose another run to compare") : null);
  const filter = () => {
    const wanted = new URLSearchParams();
    for (const [name, control] of controls) if (control.value.trim()) wanted.set(name, control.value.trim());
    location.hash = `#/runs${wanted.size ? `?${wanted}` : ""}`;
  };
  for (const [, control] of controls) control.addEventListener("change", filter);
  add(main, h("div", { class: "title" }, h("h1", {}, "Runs"), comparing),
    h("form", { class: "filters", "aria-label": "Filter", on: { submit: (event) => { event.preventDefault(); filter(); } } },
      field("Search", search), field("Outcome", outcome), field("Skill", skill), field("Began", since), tenant ? field("Tenant", tenant) : null), active, list);
  const wanted = new URLSearchParams({ limit: PAGE });
  for (const name of ["search", "outcome", "skill", ...(tenant ? ["tenant"] : [])]) if (query.get(name)) wanted.set(name, query.get(name));
  if (Number(query.get("since"))) wanted.set("since", Math.max(0, Date.now() - Number(query.get("since"))));
  const pick = (id, isChosen) => {
    if (isChosen) chosen.add(id);
    else chosen.delete(id);
    if (chosen.size > 2) {
      const [first] = chosen;
      chosen.delete(first);
      for (const box of list.querySelectorAll("input[type=checkbox]")) box.checked = chosen.has(box.value);
    }
    drawChosen();
  };
  await Promise.all([drawActive(active, signal), more(list, wanted, null, pick, signal)]);
}

async function drawActive(place, signal) {
  const { runs } = await getJson("/v1/runs/active", { signal });
  if (!runs.length) { fill(place); return; }
  fill(place, h("section", { class: "card" }, h("h2", {}, "Now"), h("ul", { class: "run-list" }, runs.slice(0, 50).map((run) => h("li", {},
    badge(run.status), h("a", { href: `#/runs/${run.run_id}`, class: "cut" }, titleOf(run)), h("span", { class: "quiet" }, run.progress?.message ?? ""),
    h("span", { class: "quiet number" }, ago(run.started_ms)), cancelButton(run.run_id, () => drawActive(place, signal).catch(() => {})))))));
}

function cancelButton(id, then) {
  const cancel = button("Cancel", async () => {
    cancel.disabled = true;
    try {
      await request(`/v1/runs/${encodeURIComponent(id)}/cancel`, { method: "POST" });
      then();
    } catch (error) {
      cancel.replaceWith(problem(error));
    }
  });
  return cancel;
}

const programName = (run) => {
  const skill = typeof run.skill === "string" ? { name: run.skill, version: run.version } : run.skill;
  return skill ? `${skill.name}@${skill.version}` : "run_code";
};

/** True for runs whose records the caller sees. An operator sees of others that they were. */
const isOwn = (run) => (run.tenant ?? session.caller.tenant) === session.caller.tenant && may(run.skill ? "execute" : "code");

/** The title of a run: what its caller called it, a line of its program, or the skill. */
export const titleOf = (run) => run.label ?? run.title ?? programName(run);

async function more(place, wanted, cursor, pick, signal) {
  if (cursor) wanted.set("cursor", cursor);
  const page = await getJson(`/v1/runs?${wanted}`, { signal });
  let body = place.querySelector("tbody");
  if (!body) {
    body = h("tbody");
    add(place, h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Runs" }, h("table", { class: "runs" }, h("caption", { class: "unseen" }, "Runs, newest first"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen" }, "Compare")),
        [["Outcome"], ["Title"], ["Program", "wide-only"], ...(wanted.get("tenant") ? [["Tenant"]] : []), ["Error", "wide-only"], ["Time", "number"], ["Log", "number wide-only"], ["Began", "number"]].map(([text, side]) => h("th", { scope: "col", class: side }, text)))), body)));
  }
  add(body, page.runs.map((run) => h("tr", {},
    h("td", {}, isOwn(run) ? h("input", { type: "checkbox", value: run.run_id, "aria-label": `Compare ${titleOf(run)} of ${moment(run.started_ms)}`, on: { change: (event) => pick(run.run_id, event.target.checked) } }) : null),
    h("td", {}, badge(run.outcome)),
    h("td", {}, isOwn(run) ? h("a", { href: `#/runs/${run.run_id}`, title: `${titleOf(run)} (${run.run_id})`, class: "cut" }, titleOf(run)) : h("span", { class: "quiet", title: run.run_id }, programName(run))),
    h("td", { class: "wide-only quiet" }, programName(run)),
    wanted.get("tenant") ? h("td", {}, run.tenant ?? session.caller.tenant) : null,
    h("td", { class: "wide-only quiet" }, run.error_type ?? ""),
    h("td", { class: "number" }, micros(run.duration_us)),
    h("td", { class: "number wide-only" }, run.log_bytes ? bytes(run.log_bytes) : "–"),
    h("td", { class: "number", title: moment(run.started_ms) }, ago(run.started_ms)))));
  if (!body.childElementCount && !page.next_cursor) {
    const filtered = ["search", "outcome", "skill", "since", "tenant"].some((name) => wanted.get(name));
    fill(place, filtered ? empty("No run fits these filters", "Choose others above.")
      : empty("No runs yet", "Execute a ", h("a", { href: "#/skills" }, "skill"), " or try the ", h("a", { href: "#/playground" }, "playground"), ". A server with records.enabled = false keeps none."));
  } else if (page.next_cursor) {
    const next = button("Show more", () => { next.remove(); more(place, wanted, page.next_cursor, pick, signal).catch((error) => add(place, problem(error))); });
    add(place, next);
  }
}

async function one(main, id, signal) {
  const body = h("div", {});
  add(main, h("p", { class: "trail" }, h("a", { href: "#/runs" }, "Runs")), h("h1", {}, "Run"), h("p", { class: "run-head" }, h("code", { class: "quiet" }, id), button("Copy", () => copy(id, "The id"), { class: "plain", "aria-label": "Copy the id" })), body);
  body.className = "stack";
  for (;;) {
    const run = await getJson(`/v1/runs/${encodeURIComponent(id)}`, { signal });
    fill(main.querySelector("h1"), titleOf(run));
    if (run.status === "ended") {
      const content = await getJson(`/v1/runs/${encodeURIComponent(id)}/content`, { signal }).catch((error) => {
        if (error.name === "AbortError") throw error;
        return { missing: error.message };
      });
      fill(body);
      return record(body, run, content, signal);
    }
    fill(body, h("p", { role: "status" }, badge(run.status), " ", programName(run), " began ", ago(run.started_ms), ". ", run.progress?.message ?? "", " "), cancelButton(id, () => {}));
    await getJson(`/v1/runs/${encodeURIComponent(id)}?wait_ms=5000`, { signal });
  }
}

function facts(entries) {
  return h("dl", { class: "facts" }, entries.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function summaryFacts(run) {
  return facts([
    ["Program", run.skill ? h("a", { href: `#/skills/${encodeURIComponent(run.skill.name)}` }, programName(run)) : `run_code, ${bytes(run.code?.size_bytes)}`],
    ["Began", `${moment(run.started_ms)} (${ago(run.started_ms)})`], ["Took", micros(run.duration_us)],
    ["Processor", run.cpu_us === null || run.cpu_us === undefined ? null : micros(run.cpu_us)], ["Memory", run.memory_peak_bytes ? bytes(run.memory_peak_bytes) : null],
    ["Fuel", run.fuel ? number(run.fuel, 0) : null], ["Host calls", run.host_calls || null],
    ["Caller", `${run.tenant}${run.key ? `, ${run.key}` : ""}`], ["Request", h("code", {}, run.request_id ?? "")], ["Trace", run.trace_id ? h("code", {}, run.trace_id) : null],
    ["Image", run.image?.name], ["Background", run.detached ? "yes" : null],
    ["Network", run.network ? Object.keys(run.network.hosts ?? run.network).slice(0, 10).join(", ") : null],
  ]);
}

/** The calls of tools whose results the run has gone on with. */
function toolCalls(calls) {
  if (!calls?.length) return null;
  const digest = (text) => h("td", {}, h("code", { title: text }, short(text)));
  return [h("h2", {}, "Calls of tools"), h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Calls of tools" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Request", "Tool", "End", "Arguments (SHA-256)", "Result (SHA-256)"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, calls.map((call) => h("tr", {}, h("td", {}, h("code", {}, call.id)), h("td", {}, call.tool), h("td", {}, badge(call.end)), digest(call.arguments), digest(call.result))))))];
}

/** The program, what it was given, what it returned, and the files that it left. */
function shown(run, content, signal) {
  const cut = (text) => text.cut ? h("p", { class: "quiet" }, "Only the beginning is kept: records.max_program.") : null;
  const given = content.arguments ? parsed(content.arguments) : run.arguments?.value;
  const left = { output: run.result?.output ?? content.output, converted: run.result?.converted ?? content.converted, output_blobs: run.output_blobs, files: content.files ?? run.result?.files };
  const again = may(run.skill ? "execute" : "code") && !run.skill ? () => { location.hash = `#/playground?run=${encodeURIComponent(run.run_id)}&keep=1`; } : null;
  const results = resultView(left, { signal, again });
  return h("div", { class: "split even" }, h("div", { class: "column" },
    content.code ? h("section", {}, h("h2", {}, "Program"), h("pre", { tabindex: 0, "aria-label": "Program" }, highlight(content.code.text)), cut(content.code)) : null,
    run.skill ? h("section", {}, h("h2", {}, "Program"), h("p", {}, h("a", { href: `#/skills/${encodeURIComponent(run.skill.name)}` }, programName(run)))) : null,
    given === undefined || given === null ? null : h("section", {}, h("h2", {}, "Arguments"), typeof given === "string" ? h("pre", { tabindex: 0 }, given) : h("div", { class: "boxed" }, tree(given)), content.arguments ? cut(content.arguments) : null),
    content.missing ? h("p", { class: "quiet" }, content.missing) : null),
  h("div", { class: "column" }, results.length ? results : h("section", {}, h("h2", {}, "Output"), h("p", { class: "quiet" }, run.outcome === "completed" ? "The program returned nothing." : "None: the run did not complete."))));
}

/** Arguments as a value, or as text if their end is missing. */
function parsed({ text, cut }) {
  if (cut) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function record(place, run, content, signal) {
  const actions = h("div", { class: "actions" }, ...repeatActions(run, content, place));
  add(place, h("div", { class: "title" }, badge(run.outcome), run.error ? h("span", { class: "message" }, h("strong", {}, run.error.type), " ", run.error.message) : null), actions,
    tabs("Parts of the record", [
      ["Summary", (panel) => add(panel, run.error?.traceback ? [h("h2", {}, "Traceback"), traceback(run.error.traceback, null)] : null, shown(run, content, signal),
        toolCalls(run.tool_calls), h("h2", {}, "Phases"), timeline(run.phases_us ?? {}, run.duration_us), h("h2", {}, "About"), summaryFacts(run))],
      ["Log", (panel) => drawLog(panel, run, signal)],
      ["Blobs", (panel) => blobs(panel, run, signal)],
      ["Details", (panel) => add(panel, h("div", { class: "boxed" }, tree(run)))],
    ]));
}

function repeatActions(run, content, place) {
  const made = [];
  if (run.skill && may("execute")) {
    const kept = content.arguments ? parsed(content.arguments) : run.arguments?.value;
    const values = kept && typeof kept === "object" ? kept : null;
    // Arguments are handed over in the tab: an address stays in histories.
    const hand = () => { if (values) rememberArguments(run.skill.name, values); };
    made.push(h("a", { class: "button primary", href: `#/skills/${encodeURIComponent(run.skill.name)}?version=${encodeURIComponent(run.skill.version)}`, on: { click: hand } }, values ? "Repeat" : "Execute again"));
  }
  if (!run.skill && may("code") && (run.reproducible || (content.code && !content.code.cut))) made.push(h("a", { class: "button primary", href: `#/playground?run=${encodeURIComponent(run.run_id)}` }, "Repeat"));
  if (run.reproducible) {
    made.push(button("Save to verify", async () => {
      try {
        const answer = await request(`/v1/runs/${encodeURIComponent(run.run_id)}/record`);
        save(await answer.blob(), `${run.run_id}.json`);
        add(place, h("p", { class: "quiet", role: "status" }, "Execute it again on any machine with ", h("code", {}, `wardian verify ${run.run_id}.json`), "."));
      } catch (error) {
        add(place, problem(error));
      }
    }));
  }
  return made;
}

async function drawLog(panel, run, signal) {
  if (!run.log?.bytes) { fill(panel, empty("This run wrote nothing")); return; }
  const log = logView("Log of the run");
  fill(panel, log.node);
  try {
    const { pieces } = await getJson(`/v1/runs/${encodeURIComponent(run.run_id)}/log?format=json`, { signal });
    for (const piece of pieces) log.say(piece.stream, piece.text);
    if (run.log.cut_bytes || run.log.dropped_bytes) add(panel, h("p", { class: "quiet" }, `${bytes((run.log.cut_bytes ?? 0) + (run.log.dropped_bytes ?? 0))} were not kept.`));
  } catch (error) {
    if (error.name !== "AbortError") fill(panel, problem(error));
  }
}

function blobs(panel, run, signal) {
  const show = (title, ids) => ids?.length ? [h("h2", {}, title), h("div", { class: "previews" }, ids.slice(0, 20).map((id) => preview(id, { signal, compact: true }))),
    ids.length > 20 ? h("p", { class: "quiet" }, `${ids.length - 20} more`) : null] : null;
  const made = [show("Output", run.output_blobs), show("Input", run.input_blobs)].filter(Boolean);
  fill(panel, made.length ? may("blobs") ? made : empty("This key cannot read blobs", "It needs the scope blobs.") : empty("This run read and wrote no blobs"));
}

/** Rows that two runs are compared by: a name, and what reads the value. */
const COMPARED = [
  ["Outcome", (run) => run.outcome], ["Title", titleOf], ["Error", (run) => run.error ? `${run.error.type}: ${run.error.message}` : "–"], ["Program", programName],
  ["Code or skill", (run) => short((run.code ?? run.skill)?.digest ?? "–", 16)], ["Arguments", (run) => short(run.arguments?.digest ?? "–", 16)], ["Output", (run) => run.output ? `${short(run.output.digest, 16)}, ${bytes(run.output.size_bytes)}` : "–"],
  ["Blobs", (run) => String(run.output_blobs_total ?? 0)], ["Took", (run) => micros(run.duration_us), (run) => run.duration_us], ["Processor", (run) => micros(run.cpu_us), (run) => run.cpu_us],
  ["Memory", (run) => bytes(run.memory_peak_bytes), (run) => run.memory_peak_bytes], ["Fuel", (run) => run.fuel ? number(run.fuel, 0) : "–"], ["Log", (run) => bytes(run.log?.bytes ?? 0)],
  ...["prepare", "queue", "set_up", "execute", "finish"].map((name) => [`Phase ${name.replace("_", " ")}`, (run) => micros(run.phases_us?.[name]), (run) => run.phases_us?.[name]]),
  ["Image", (run) => run.image?.name ?? "–"], ["Wardian", (run) => run.wardian ?? "–"], ["Engine", (run) => short(run.engine ?? "–", 16)],
];

async function compare(main, first, second, signal) {
  add(main, h("p", { class: "trail" }, h("a", { href: "#/runs" }, "Runs")), h("h1", {}, "Two runs"));
  const pair = await Promise.all([first, second].map((id) => getJson(`/v1/runs/${encodeURIComponent(id)}`, { signal })));
  if (pair.some((run) => run.status !== "ended")) { add(main, empty("One of the runs goes on", "Compare them when both have ended.")); return; }
  const rows = COMPARED.map(([name, show, measure]) => {
    const [one, other] = pair.map(show);
    const [from, to] = measure ? pair.map(measure) : [];
    const change = from > 0 && to > 0 && from !== to ? ` ${to > from ? "+" : "−"}${number(Math.abs(100 * (to - from) / from), 0)} %` : "";
    return h("tr", { class: one === other ? "same" : "differs" }, h("th", { scope: "row" }, name), h("td", {}, one), h("td", {}, other, h("span", { class: "quiet" }, change)),
      h("td", { class: "quiet" }, measure ? "" : one === other ? "same" : "differs"));
  });
  add(main, h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Comparison" }, h("table", { class: "compare" }, h("caption", { class: "unseen" }, "Two runs beside each other"),
    h("thead", {}, h("tr", {}, h("th", {}, h("span", { class: "unseen" }, "What")), pair.map((run) => h("th", { scope: "col" }, h("a", { href: `#/runs/${run.run_id}` }, short(run.run_id, 16)))), h("th", {}, h("span", { class: "unseen" }, "Difference")))), h("tbody", {}, rows))));
  add(main, h("div", { class: "split even" }, pair.map((run) => {
    const place = h("section", { class: "card" }, h("h2", {}, `Log of ${short(run.run_id, 16)}`));
    const inner = h("div", {});
    add(place, inner);
    drawLog(inner, run, signal);
    return place;
  })));
}
