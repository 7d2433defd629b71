/** The files of a session: listed, read, written and removed between its cells. */

import type { Transport, WireRequest } from "./transport.js";
import { query, segment } from "./wire.js";

/** A file, a folder or a link in the working folder of a session. */
export interface SessionFile {
  /** Its path below that folder. */
  path: string;
  kind: "file" | "folder" | "link";
  size_bytes: number;
  /** Milliseconds since 1970. */
  modified_ms: number;
}

/** A file of a session that was written or removed. */
export interface FileChange {
  path: string;
  /** Its size, unless it was removed. */
  size_bytes?: number;
  /** Whether there was a file of this path before. */
  replaced: boolean;
  /** The session. The change counts as a cell, and is a checkpoint of its own. */
  session: { id: string; cell: number; checkpoint: string; state: "kept" };
}

/** How a file of a session is read. */
export interface FileParams {
  /** How long to wait for the end of a cell. Without it, a busy session refuses the request. */
  wait_ms?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** How a file of a session is changed. */
export interface FileChangeParams extends FileParams {
  /** Refuse the change if the session is not at this checkpoint. */
  if_checkpoint?: string | { readonly id: string } | undefined;
}

/** The content of a file. Its length must be known. */
export type FileContent = string | ArrayBuffer | Uint8Array<ArrayBuffer> | Blob;

/** Files that the server lists at once. */
const PAGE = 1_000;

interface FilePage {
  files: SessionFile[];
  next_cursor: string | null;
  checkpoint: string | null;
}

/**
 * The files in the working folder of a session: `session.files`. Paths are relative to that folder;
 * those that begin with `/workspace/`, as programs write them, are too.
 */
export class SessionFiles {
  readonly #transport: Transport;
  readonly #path: string;
  readonly #seen: (checkpoint: string | null) => void;

  constructor(transport: Transport, path: string, seen: (checkpoint: string | null) => void) {
    this.#transport = transport;
    this.#path = `${path}/files`;
    this.#seen = seen;
  }

  /**
   * What is in the folder and below it, or everything, in the order of the paths: at most `limit` files,
   * folders and links, or all.
   */
  async list(
    options: FileParams & { folder?: string | undefined; limit?: number | undefined } = {},
  ): Promise<SessionFile[]> {
    const { limit = Number.POSITIVE_INFINITY, wait_ms, signal } = options;
    const folder = relative(options.folder ?? "").replace(/\/+$/, "") || undefined;
    const found: SessionFile[] = [];
    let cursor: string | undefined;
    while (found.length < limit) {
      const count = Math.min(limit - found.length, PAGE);
      const path = `${this.#path}${query({ folder, cursor, limit: count, wait_ms })}`;
      const request = { method: "GET", path, isRepeatable: true, signal };
      const page = (await this.#transport.object(request)) as unknown as FilePage;
      this.#seen(page.checkpoint);
      found.push(...page.files);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    return found;
  }

  /** The content as a `Response` of `fetch`, to read as a stream, text, a `Blob` or bytes. */
  async open(path: string, { wait_ms, signal }: FileParams = {}): Promise<Response> {
    const place = `${this.#place(path)}${query({ wait_ms })}`;
    return this.#transport.send({ method: "GET", path: place, isRepeatable: true, signal });
  }

  /** The whole content of a file. Refused with `file_not_found` if there is none. */
  async read(path: string, params: FileParams = {}): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(path, params)).arrayBuffer());
  }

  /** The whole content of a file, as text. */
  async readText(path: string, params: FileParams = {}): Promise<string> {
    return (await this.open(path, params)).text();
  }

  /**
   * Writes a file, and makes the folders that lead to it. The change is a checkpoint of its own. It is
   * refused with `session_conflict` if the session is not at `if_checkpoint`, and with `quota_exceeded` if
   * the workspace has no room.
   */
  async write(
    path: string,
    content: FileContent,
    params: FileChangeParams = {},
  ): Promise<FileChange> {
    checkContent(content);
    const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const headers = { "content-type": "application/octet-stream" };
    return this.#changed({ ...this.#change("PUT", path, params), body, headers });
  }

  /** Removes a file, a link or an empty folder. The change is a checkpoint of its own. */
  async delete(path: string, params: FileChangeParams = {}): Promise<FileChange> {
    return this.#changed(this.#change("DELETE", path, params));
  }

  #change(method: string, path: string, params: FileChangeParams): WireRequest {
    const { if_checkpoint: at, wait_ms, signal } = params;
    const if_checkpoint = typeof at === "object" ? at.id : at;
    const place = `${this.#place(path)}${query({ if_checkpoint, wait_ms })}`;
    return { method, path: place, isRepeatable: false, signal };
  }

  async #changed(request: WireRequest): Promise<FileChange> {
    const change = (await this.#transport.object(request)) as unknown as FileChange;
    this.#seen(change.session.checkpoint);
    return change;
  }

  #place(path: string): string {
    return [this.#path, ...relative(path).split("/").map(segment)].join("/");
  }
}

/** The path below the working folder. */
function relative(path: string): string {
  return path.startsWith("/workspace/") ? path.slice("/workspace/".length) : path;
}

/** Refuses other values: `fetch` would send the text of an object, such as `[object Object]`. */
function checkContent(content: FileContent): void {
  const isBytes = content instanceof ArrayBuffer || ArrayBuffer.isView(content);
  if (typeof content === "string" || isBytes || content instanceof Blob) return;
  throw new TypeError("`write` takes text, bytes, a `Blob` or a `File`");
}
