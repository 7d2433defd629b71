// Small charts, drawn as SVG with attributes alone.

import { h, svg } from "./dom.js";
import { micros, number } from "./format.js";

/** A line of the last values, with an area below. `values` may have gaps (null). */
export function sparkline(values, label, { width = 240, height = 44, most = null } = {}) {
  const top = Math.max(most ?? 0, ...values.map((value) => value ?? 0), 1e-9);
  const x = (at) => values.length < 2 ? 0 : at * width / (values.length - 1);
  const y = (value) => height - 2 - (value / top) * (height - 6);
  const points = values.map((value, at) => value === null ? null : `${x(at).toFixed(1)},${y(value).toFixed(1)}`).filter(Boolean);
  return svg("svg", { class: "spark", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${label}: now ${number(values.at(-1) ?? 0)}, at most ${number(top)}` },
    points.length > 1 ? [
      svg("polygon", { class: "spark-area", points: `${points[0].split(",")[0]},${height} ${points.join(" ")} ${points.at(-1).split(",")[0]},${height}` }),
      svg("polyline", { class: "spark-line", points: points.join(" ") }),
    ] : null);
}

/** A bar of parts: `[name, amount, tone]`. */
export function meter(parts, whole, label) {
  let at = 0;
  const total = Math.max(whole, 1e-9);
  return svg("svg", { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", role: "img",
    "aria-label": `${label}: ${parts.map(([name, amount]) => `${amount} ${name}`).join(", ")} of ${whole}` },
    svg("rect", { class: "meter-back", x: 0, y: 0, width: 100, height: 6 }),
    parts.map(([, amount, tone]) => {
      const width = 100 * amount / total;
      const bar = svg("rect", { class: `tone-${tone}`, x: at, y: 0, width, height: 6 });
      at += width;
      return bar;
    }));
}

const PHASES = [
  ["prepare", "Looking up skills, layers, secrets and blobs"], ["queue", "Waiting for a worker"],
  ["set_up", "Setting the memory up"], ["execute", "The program"], ["finish", "Reading and storing the result"],
];

/** The phases of a run as a timeline: a bar, and a table with the numbers. */
export function timeline(phases, total) {
  const sum = PHASES.reduce((all, [name]) => all + (phases[name] ?? 0), 0);
  const whole = Math.max(total ?? 0, sum, 1);
  let at = 0;
  const bars = PHASES.map(([name], number) => {
    const time = phases[name] ?? 0;
    const bar = svg("rect", { class: `phase phase-${number}`, x: at * 1000 / whole, y: 0, width: Math.max(time * 1000 / whole, time ? 2 : 0), height: 22 },
      svg("title", {}, `${name}: ${micros(time)}`));
    at += time;
    return bar;
  });
  const rows = PHASES.map(([name, about], number) => h("tr", {},
    h("th", { scope: "row" }, svg("svg", { class: "dot", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { class: `phase-${number}`, width: 10, height: 10, rx: 2 })), name.replace("_", " ")),
    h("td", { class: "number" }, phases[name] === null || phases[name] === undefined ? "–" : micros(phases[name])),
    h("td", { class: "number" }, phases[name] ? `${number1(100 * phases[name] / whole)} %` : ""),
    h("td", { class: "quiet about" }, about)));
  return h("div", { class: "timeline" },
    svg("svg", { class: "phases", viewBox: "0 0 1000 22", preserveAspectRatio: "none", role: "img", "aria-label": "Phases of the run" }, bars),
    h("table", {}, h("caption", { class: "unseen" }, "Phases of the run"), h("tbody", {}, rows)));
}

const number1 = (value) => value < 10 ? value.toFixed(1) : Math.round(value);
