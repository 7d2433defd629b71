/** Arguments that JSON cannot represent: which are stored as blobs, and which are refused. */

import type { Blobs } from "./blobs.js";
import { KeptFile } from "./files.js";
import type { Json } from "./schema.js";
import { type BlobReference, blobId, isBlob, printJson } from "./wire.js";

/**
 * An argument of a call. Bytes, a `Blob` and a `File` are stored. The program gets the id of the blob,
 * as it does for the result of an upload and for a file of another run.
 */
export type Argument =
  | Json
  | Blob
  | ArrayBuffer
  | Uint8Array<ArrayBuffer>
  | KeptFile
  | { readonly blob_id: string; readonly size_bytes: number }
  | readonly Argument[]
  | { readonly [name: string]: Argument | undefined };

/** The arguments of a call, by name. */
export type Arguments = { readonly [name: string]: Argument | undefined };

/** A blob as a file in the working folder of the program, which can change it. */
export interface BlobAtPath {
  blob: BlobReference;
  /** The path of the file, relative to that folder. */
  path: string;
}

type Content = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;

interface Upload {
  content: Content;
  /** Replaces the content by the id of its blob. */
  put: (id: string) => void;
}

/** The parameters of a run, and the contents to store before they are sent. */
export class Inputs {
  readonly #method: string;
  readonly #params: Record<string, unknown>;
  readonly #uploads: Upload[] = [];
  readonly #ids: string[] = [];
  readonly #holder: { args?: unknown } = {};

  /** Throws a `TypeError` for a value that can neither be sent nor stored. */
  constructor(method: string, params: object) {
    this.#method = method;
    this.#params = { ...params };
    this.#copy((value) => (this.#holder.args = value), this.#params["args"], "args");
    printJson({ ...this.#params, args: this.#holder.args });
  }

  /** The parameters, once everything is stored. */
  get #stored(): object {
    const params: Record<string, unknown> = { ...this.#params };
    if (this.#holder.args !== undefined) params["args"] = this.#holder.args;
    // A skill gets the blobs that its manifest declares; code gets those that are mounted.
    if (this.#ids.length > 0 && this.#method === "run_code") {
      const given = (params["input_blobs"] ?? []) as Array<BlobReference | BlobAtPath>;
      const placed = given.filter(isAtPath);
      const listed = given.filter((blob): blob is BlobReference => !isAtPath(blob));
      const ids = listed.map(blobId);
      params["input_blobs"] = [...placed, ...new Set([...ids, ...this.#ids])];
    }
    return params;
  }

  /** Stores the contents, each object once, and returns the parameters. */
  async stored(blobs: Blobs): Promise<object> {
    const known = new Map<Content, string>();
    for (let next = this.#uploads[0]; next !== undefined; next = this.#uploads[0]) {
      const id = known.get(next.content) ?? (await blobs.upload(next.content)).blob_id;
      known.set(next.content, id);
      this.#ids.push(id);
      next.put(id);
      this.#uploads.shift();
    }
    return this.#stored;
  }

  /** Copies a value, with ids instead of blobs. */
  #copy(put: (value: unknown) => void, value: unknown, path: string): void {
    if (typeof value !== "object" || value === null) {
      refuse(value, path);
      put(value);
    } else if (value instanceof KeptFile || isBlob(value)) {
      const id = value instanceof KeptFile ? value.blob().blob_id : value.blob_id;
      this.#ids.push(id);
      put(id);
    } else if (isContent(value)) {
      put("");
      this.#uploads.push({ content: value, put });
    } else if (Array.isArray(value)) {
      const copy: unknown[] = [];
      put(copy);
      value.forEach((item, at) => this.#copy((made) => (copy[at] = made), item, `${path}[${at}]`));
    } else {
      refuse(value, path);
      if (typeof (value as { toJSON?: unknown }).toJSON === "function") return put(value);
      const copy = {};
      put(copy);
      for (const [name, member] of Object.entries(value)) {
        // An assignment to `__proto__` would not define a member.
        const define = (made: unknown): unknown =>
          Object.defineProperty(copy, name, {
            value: made,
            enumerable: true,
            writable: true,
            configurable: true,
          });
        this.#copy(define, member, `${path}.${name}`);
      }
    }
  }
}

function isAtPath(blob: BlobReference | BlobAtPath): blob is BlobAtPath {
  return typeof blob === "object" && "path" in blob;
}

/** True for content that arguments are stored as. */
export function isContent(value: object): value is Content {
  return value instanceof Blob || value instanceof ArrayBuffer || value instanceof Uint8Array;
}

/** Refuses values that `JSON.stringify` would send as empty objects, as null, or not at all. */
export function refuse(value: unknown, path: string): void {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
    throw new TypeError(`\`${path}\` is a ${typeof value}, which JSON cannot represent`);
  }
  if (typeof value !== "object" || value === null) return;
  const advice =
    value instanceof Map
      ? "pass `Object.fromEntries` of it"
      : value instanceof Set || (ArrayBuffer.isView(value) && !(value instanceof DataView))
        ? "pass `Array.from` of it"
        : value instanceof ReadableStream || value instanceof Promise
          ? "wait for its content, or pass the result of `blobs.upload`"
          : undefined;
  if (advice === undefined) return;
  throw new TypeError(
    `\`${path}\` is a ${value.constructor.name}, which JSON cannot represent: ${advice}`,
  );
}
