// What the server does now: from its metrics for operators, and from the API for others.

import { getJson, may, request } from "./api.js";
import { meter, sparkline } from "./chart.js";
import { add, empty, fill, h, problem } from "./dom.js";
import { ago, bytes, micros, number } from "./format.js";
import { badge } from "./run_panel.js";
import { titleOf } from "./runs.js";

/** The time between two looks, and how many rates of now are made from. */
const PERIOD = 2000;
const KEPT = 90;

/** Looks after which the history is asked for again. */
const LOOKS = 15;

/** Readings of the last minutes, kept while the tab is open. */
const samples = [];

/** What the server kept of its last day, and how often it was looked at. */
let history = null;
let looks = 0;

/** Reads the text format of OpenMetrics: names with lists of `[labels, value]`. */
export function readMetrics(text) {
  const values = new Map();
  for (const line of text.split("\n")) {
    const match = /^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const value = Number(match[3].replace("+Inf", "Infinity"));
    if (Number.isNaN(value)) continue;
    const labels = {};
    for (const [, name, text] of (match[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[name] = text.replace(/\\n/g, "\n").replace(/\\(.)/g, "$1");
    }
    if (!values.has(match[1])) values.set(match[1], []);
    values.get(match[1]).push([labels, value]);
  }
  return values;
}

const total = (values, name, fits = () => true) =>
  (values.get(name) ?? []).reduce((sum, [labels, value]) => fits(labels) ? sum + value : sum, 0);

function by(values, name, label) {
  const sums = new Map();
  for (const [labels, value] of values.get(name) ?? []) sums.set(labels[label], (sums.get(labels[label]) ?? 0) + value);
  return sums;
}

export async function overviewPage(main, { signal }) {
  const state = h("div", { class: "state" });
  const numbers = h("div", {});
  const runs = h("section", { class: "card", "aria-labelledby": "latest" });
  add(main, h("div", { class: "title" }, h("h1", {}, "Overview"), state), numbers, runs);
  const look = async () => {
    const work = [readiness(state, signal)];
    if (may("admin")) work.push(drawMetrics(numbers, signal));
    if (may("execute") || may("code")) work.push(drawRuns(runs, signal));
    await Promise.all(work);
  };
  if (!may("admin")) add(numbers, empty("Rates, queue and workers are for operators", "They need a key with the scope admin."));
  await look();
  schedule(look, signal);
}

/** Looks again and again, while the page shows and the tab is seen. */
function schedule(look, signal) {
  const again = async () => {
    if (signal.aborted) return;
    if (!document.hidden) await look().catch(() => {});
    if (!signal.aborted) setTimeout(again, PERIOD);
  };
  // Rates need two readings: the second one comes soon.
  setTimeout(again, samples.length > 1 ? PERIOD : PERIOD / 3);
}

async function readiness(place, signal) {
  let ready;
  try {
    const answer = await fetch("/readyz", { signal, cache: "no-store" });
    ready = await answer.json();
  } catch (error) {
    if (error.name !== "AbortError") fill(place, h("span", { class: "badge badge-bad" }, "not reachable"));
    return;
  }
  const texts = [...ready.reasons, ...(ready.warnings ?? [])];
  fill(place, h("span", { class: `badge badge-${ready.ready ? "good" : "bad"}` }, ready.ready ? "ready" : "not ready"),
    texts.map((text) => h("p", { class: "warning" }, text)));
}

async function drawMetrics(place, signal) {
  let values;
  try {
    const asked = [request("/v1/metrics", { signal }).then((answer) => answer.text())];
    if (!history || looks % LOOKS === 0) asked.push(getJson("/v1/overview", { signal }).then((found) => { history = found; }));
    looks += 1;
    values = readMetrics((await Promise.all(asked))[0]);
  } catch (error) {
    if (error.name !== "AbortError") fill(place, problem(error));
    return;
  }
  samples.push({ at: performance.now(), values });
  // A tab that was hidden has a gap, and rates over a gap would mislead.
  while (samples.length > KEPT || (samples.length > 1 && samples.at(-1).at - samples[0].at > KEPT * PERIOD * 2)) samples.shift();
  fill(place, cards(samples), past(), phases(), tenants(samples));
}

/** Differences per second between neighbours. */
function rates(name, fits) {
  return samples.slice(1).map(({ at, values }, before) => {
    const earlier = samples[before];
    return Math.max(0, total(values, name, fits) - total(earlier.values, name, fits)) * 1000 / (at - earlier.at);
  });
}

const gauges = (name, fits) => samples.map(({ values }) => total(values, name, fits));

function cards() {
  const { values } = samples.at(-1);
  const busy = total(values, "wardian_workers", ({ state }) => state === "busy");
  const idle = total(values, "wardian_workers", ({ state }) => state === "idle");
  const waiting = total(values, "wardian_runs_queued");
  const ends = rates("wardian_runs_total");
  const calls = rates("wardian_rpc_calls_total");
  const used = total(values, "wardian_request_memory_bytes");
  const limit = total(values, "wardian_request_memory_limit_bytes");
  const now = (list) => list.length ? number(list.slice(-3).reduce((sum, value) => sum + value, 0) / Math.min(3, list.length)) : "–";
  return h("div", { class: "cards" },
    card("Runs ended", now(ends), "per second", [sparkline(ends, "Runs ended in a second"), small(`since the start ${number(total(values, "wardian_runs_total"), 0)}, of which ${number(total(values, "wardian_runs_total", ({ outcome }) => outcome !== "completed"), 0)} did not complete`)]),
    card("Calls", now(calls), "per second", [sparkline(calls, "Calls in a second"), small(`open connections: ${number(total(values, "wardian_http_connections"), 0)}`)]),
    card("Workers", `${busy}`, `of ${busy + idle} busy`, [meter([["busy", busy, "accent"], ["idle", idle, "idle"]], Math.max(busy + idle, total(values, "wardian_worker_slots")), "Workers"),
      small(`${number(total(values, "wardian_worker_events_total", ({ event }) => event === "run_crashed"), 0)} crashed runs · ${number(total(values, "wardian_worker_events_total", ({ event }) => event === "started"), 0)} workers started`)]),
    card("Queue", `${waiting}`, waiting === 1 ? "run waits" : "runs wait", [sparkline(gauges("wardian_runs_queued"), "Runs that wait", { most: 4 }), small(`${number(total(values, "wardian_runs_running"), 0)} running`)]),
    card("Images", number(total(values, "wardian_images"), 0), "to begin from", [small(bytes(total(values, "wardian_image_bytes"))), small(`${number(total(values, "wardian_skills") + total(values, "wardian_tenant_skills"), 0)} skills`)]),
    card("Gateway", bytes(total(values, "process_resident_memory_bytes")), "of memory", [meter([["used", Math.round(used / 1024), "accent"]], Math.round(limit / 1024), "Memory of requests in KiB"),
      small(`requests hold ${bytes(used)} of ${bytes(limit)}`), small(`${now(rates("process_cpu_seconds_total").map((share) => share * 100))} % of a core`)]));
}

const small = (text) => h("p", { class: "quiet" }, text);

function card(title, value, unit, rest) {
  return h("section", { class: "card stat" }, h("h2", {}, title),
    h("p", { class: "figure" }, h("strong", {}, value), " ", h("span", {}, unit)), rest);
}

/** The charts of the last day: a label, what one shows of a sample and the one before, and its text. */
const PAST = [
  ["Runs per minute", (now, before) => perMinute(now, before, "runs"), (value) => number(value)],
  ["Failed runs per minute", (now, before) => perMinute(now, before, "failed"), (value) => number(value)],
  ["Calls per minute", (now, before) => perMinute(now, before, "calls"), (value) => number(value)],
  ["Runs that wait", (now) => now.queued, (value) => number(value, 0)],
  ["Busy workers", (now) => now.busy, (value) => number(value, 0)],
  ["Memory of the gateway", (now) => now.resident_bytes, bytes],
];

/** The change of a counter in a minute. The last sample is of now, so its distance varies. */
export function perMinute(now, before, name) {
  const minutes = (before.age_ms - now.age_ms) / 60_000;
  return minutes > 0 ? Math.max(0, now[name] - before[name]) / minutes : 0;
}

function past() {
  const taken = history?.samples ?? [];
  // The newest of them is of the moment of the question: a rate over a second would jump.
  const told = taken.filter((sample, at) => at < taken.length - 1 || taken.length < 3 || taken[at - 1].age_ms - sample.age_ms > 20_000);
  if (told.length < 2) return h("section", { class: "card", "aria-labelledby": "past" }, h("h2", { id: "past" }, "The last day"), empty("Nothing to show yet", "The server keeps one sample a minute for 24 hours."));
  const span = told[0].age_ms - told.at(-1).age_ms;
  const since = span >= 7_200_000 ? `${number(span / 3_600_000, 0)} hours ago` : `${number(Math.max(1, span / 60_000), 0)} min ago`;
  return h("section", { class: "card past", "aria-labelledby": "past" }, h("h2", { id: "past" }, "The last day"), h("div", { class: "past-charts" }, PAST.map(([label, of, show]) => {
    const values = told.slice(1).map((sample, at) => of(sample, told[at]));
    return h("figure", { class: "plain-figure" }, h("figcaption", {}, h("strong", {}, label), h("span", { class: "quiet" }, `at most ${show(Math.max(...values))}`)), sparkline(values.length > 1 ? values : [values[0], values[0]], label),
      h("p", { class: "spark-times" }, h("span", {}, since), h("span", {}, "now")));
  })));
}

function phases() {
  const found = (history?.phases ?? []).filter((phase) => phase.count);
  const rows = found.map((phase) => h("tr", {}, h("th", { scope: "row" }, phase.phase.replace("_", " ")),
    [number(phase.count, 0), ...["mean_us", "p50_us", "p90_us", "p99_us"].map((name) => micros(phase[name]))].map((text) => h("td", { class: "number" }, text))));
  return h("section", { class: "card", "aria-labelledby": "phases" }, h("h2", { id: "phases" }, "Phases of runs since the start"),
    rows.length ? [h("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": "Phases of runs" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Phase"),
      ["runs", "mean", "median", "90 %", "99 %"].map((text) => h("th", { scope: "col", class: "number" }, text)))), h("tbody", {}, rows))),
    small(`Quantiles differ from the true ones by ${number(100 * history.relative_error, 0)} % at most.`)]
      : empty("No run has ended yet", "Execute a skill, or run code in the playground."));
}

function tenants() {
  const { values } = samples.at(-1);
  const ends = new Map();
  for (const [{ tenant, outcome }, count] of values.get("wardian_runs_total") ?? []) {
    const sums = ends.get(tenant) ?? { completed: 0, failed: 0 };
    sums[outcome === "completed" ? "completed" : "failed"] += count;
    ends.set(tenant, sums);
  }
  if (!ends.size) return null;
  const cpu = by(values, "wardian_run_cpu_seconds_total", "tenant");
  const sorted = [...ends].sort(([, one], [, other]) => other.completed + other.failed - one.completed - one.failed).slice(0, 20);
  return h("section", { class: "card", "aria-labelledby": "busiest" }, h("h2", { id: "busiest" }, "Tenants since the start"),
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Tenant"),
      ["completed", "failed", "processor"].map((text) => h("th", { scope: "col", class: "number" }, text)))),
    h("tbody", {}, sorted.map(([tenant, sums]) => h("tr", {}, h("th", { scope: "row" }, tenant),
      [number(sums.completed, 0), number(sums.failed, 0), micros(1e6 * (cpu.get(tenant) ?? 0))].map((text) => h("td", { class: "number" }, text)))))));
}

async function drawRuns(place, signal) {
  let latest;
  let active;
  try {
    [latest, active] = await Promise.all([getJson("/v1/runs?limit=8", { signal }), getJson("/v1/runs/active", { signal })]);
  } catch (error) {
    if (error.name !== "AbortError") fill(place, h("h2", { id: "latest" }, "Latest runs"), problem(error));
    return;
  }
  const rows = [...active.runs.slice(0, 5).map((run) => [run, run.status]), ...latest.runs.map((run) => [run, run.outcome])];
  fill(place, h("h2", { id: "latest" }, "Latest runs"), rows.length ? h("ul", { class: "run-list" }, rows.map(([run, outcome]) => h("li", {},
    badge(outcome), h("a", { href: `#/runs/${run.run_id}`, class: "cut" }, titleOf(run)),
    h("span", { class: "quiet number" }, run.duration_us === undefined ? "" : micros(run.duration_us)),
    h("span", { class: "quiet number" }, ago(run.started_ms)),
    h("code", { class: "quiet run-id" }, run.run_id))))
    : empty("No runs yet", "Execute a ", h("a", { href: "#/skills" }, "skill"), ", or try the ", h("a", { href: "#/playground" }, "playground"), "."));
}
