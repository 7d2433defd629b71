// Numbers, sizes and times as people read them.

/** A size in bytes. */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  let rest = size;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (rest < 1024 || unit === "GiB") {
      return `${rest < 10 && unit !== "B" ? rest.toFixed(1) : Math.round(rest)} ${unit}`;
    }
    rest /= 1024;
  }
  return `${size} B`;
}

/** A duration in microseconds. */
export function micros(time) {
  if (time === null || time === undefined) return "–";
  if (time < 1000) return `${Math.round(time)} µs`;
  if (time < 10_000) return `${(time / 1000).toFixed(1)} ms`;
  if (time < 1_000_000) return `${Math.round(time / 1000)} ms`;
  if (time < 120_000_000) return `${(time / 1_000_000).toFixed(1)} s`;
  return `${Math.round(time / 60_000_000)} min`;
}

/** The time since a moment, in milliseconds since 1970. */
export function ago(moment, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - moment) / 1000));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** The time until a moment, in milliseconds since 1970. */
export function until(moment, now = Date.now()) {
  const seconds = Math.round((moment - now) / 1000);
  if (seconds <= 0) return "now";
  if (seconds < 60) return `in ${seconds} s`;
  if (seconds < 3600) return `in ${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `in ${Math.floor(seconds / 3600)} h`;
  return `in ${Math.floor(seconds / 86_400)} d`;
}

/** A moment, in the time of the browser. */
export function moment(milliseconds) {
  return new Date(milliseconds).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** A number with few digits. */
export function number(value, digits = 1) {
  if (!Number.isFinite(value)) return "–";
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** The beginning of an id. */
export function short(id, length = 12) {
  const [kind, rest] = id.includes(":") ? id.split(":", 2) : ["", id];
  const begin = rest.length > length ? `${rest.slice(0, length)}…` : rest;
  return kind ? `${kind}:${begin}` : begin;
}
