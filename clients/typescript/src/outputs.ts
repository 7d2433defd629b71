/** What functions return, as JSON: what it cannot represent is refused. */

import { KeptFile } from "./files.js";
import { isContent, refuse } from "./inputs.js";
import { isBlob, printJson } from "./wire.js";

/** The bytes of a request that no server accepts more of. Most accept half of it. */
const LARGEST_BODY = 32 * 2 ** 20;

/** The value as JSON, with ids in place of blobs. Throws a `TypeError` for one that JSON cannot represent. */
export function output(value: unknown): unknown {
  const made = plain(value, "output");
  // A value without JSON is null, as in an array.
  const size = new TextEncoder().encode(printJson(made ?? null)).length;
  if (size > LARGEST_BODY) {
    throw new TypeError(`the output has ${size >> 20} MiB: return the result of \`blobs.upload\``);
  }
  return made ?? null;
}

function plain(value: unknown, path: string): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new TypeError(`\`${path}\` is ${value}, which JSON cannot represent`);
  }
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) {
    throw new TypeError(`\`${path}\` has half of a character that UTF-16 has in two`);
  }
  if (typeof value !== "object" || value === null) {
    refuse(value, path);
    return value;
  }
  if (value instanceof KeptFile) return value.blob().blob_id;
  if (isBlob(value)) return value.blob_id;
  if (isContent(value)) {
    throw new TypeError(
      `\`${path}\` is a ${value.constructor.name}: return text, or the result of \`blobs.upload\``,
    );
  }
  refuse(value, path);
  if (Array.isArray(value)) return value.map((item, at) => plain(item, `${path}[${at}]`) ?? null);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return plain(toJSON.call(value, ""), path);
  const members = Object.entries(value).map(([name, member]) => {
    return [plain(name, path), plain(member, `${path}.${name}`)];
  });
  // `fromEntries` defines members, also one with the name `__proto__`.
  return Object.fromEntries(members);
}
