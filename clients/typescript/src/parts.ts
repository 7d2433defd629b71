/** Results of the parts of a run between which its caller answered, as one result. */

import type { RunResult } from "./schema.js";

/** The bytes of what all parts have printed that a result shows, as in the server's list of cells. */
const LONGEST_PREVIEW = 4_096;

/**
 * The result of two parts, one after the other. The files of a whole program are all in its last part; a
 * cell lists those that each part has changed.
 */
export function ofOneRun(first: RunResult, second: RunResult, isProgram: boolean): RunResult {
  const whole: RunResult = { ...second, ...printed(first, second) };
  whole.duration_ms = first.duration_ms + second.duration_ms;
  whole.memory_peak_bytes = Math.max(first.memory_peak_bytes, second.memory_peak_bytes);
  whole.output_blobs = [...new Set([...(first.output_blobs ?? []), ...(second.output_blobs ?? [])])];
  if (first.fuel !== undefined || second.fuel !== undefined) {
    whole.fuel = (first.fuel ?? 0) + (second.fuel ?? 0);
  }
  if (first.display !== undefined || second.display !== undefined) {
    whole.display = [...(first.display ?? []), ...(second.display ?? [])];
  }
  if (!isProgram) addFiles(whole, first, second);
  return whole;
}

function addFiles(whole: RunResult, first: RunResult, second: RunResult): void {
  const later = second.files ?? [];
  const changed = new Set(later.map(({ path }) => path));
  whole.files = [...(first.files ?? []).filter(({ path }) => !changed.has(path)), ...later];
  if (first.files_total !== undefined || second.files_total !== undefined) {
    // Those that both have changed are counted twice.
    whole.files_total = filesOf(first) + filesOf(second);
  }
}

/** What both have printed: the beginning, if it is long. */
function printed(first: RunResult, second: RunResult) {
  const text = (first.logs_preview ?? "") + (second.logs_preview ?? "");
  const bytes = new TextEncoder().encode(text);
  const isCut = bytes.length > LONGEST_PREVIEW;
  // With `stream`, a character that is cut is left out.
  const begin = new TextDecoder().decode(bytes.subarray(0, LONGEST_PREVIEW), { stream: true });
  return {
    logs_preview: isCut ? begin : text,
    logs_truncated: isCut || first.logs_truncated || second.logs_truncated,
  };
}

function filesOf({ files_total, files }: RunResult): number {
  return files_total ?? files?.length ?? 0;
}
