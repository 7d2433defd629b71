/** Blobs of any size. */

import type { CreateBlobResult, JsonObject } from "./schema.js";
import { canStream, type Transport, type WireRequest } from "./transport.js";
import { type BlobReference, blobId, query, segment, standsForBlob } from "./wire.js";

/** A blob in a list. Times are milliseconds since 1970. */
export interface ListedBlob {
  blob_id: string;
  kind: string | null;
  name?: string;
  size_bytes: number;
  created_ms: number;
  last_used_ms: number;
}

/** The kind and name of an upload. Without both, the server stores bytes of unknown kind. */
export interface UploadOptions {
  /** MIME type. */
  kind?: string;
  /** File name by which programs can open the blob. Without `kind`, its extension decides the kind. */
  name?: string;
  /** Alias of `name`. */
  filename?: string;
}

/** The content of an upload. */
export type UploadContent =
  | string
  | ArrayBuffer
  | Uint8Array<ArrayBuffer>
  | Blob
  | ReadableStream<Uint8Array>;

/**
 * The blobs of the tenant: `client.blobs`. Methods that take an id also take an object with a
 * `blob_id`.
 */
export class Blobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Stores bytes, text, a `Blob` or `File` (for example from a form or from `fs.openAsBlob`), or a
   * stream. A stream can be read only once, so its upload is not repeated. The result can be an
   * argument of calls, which receive the id instead.
   */
  async upload(content: UploadContent, options: UploadOptions = {}): Promise<CreateBlobResult> {
    checkContent(content);
    const isFile = typeof File !== "undefined" && content instanceof File;
    const filename = options.name ?? options.filename ?? (isFile ? content.name : undefined);
    const own = content instanceof Blob && content.type !== "" ? content.type : undefined;
    const kind = options.kind ?? own ?? (typeof content === "string" ? "text/plain" : undefined);
    // For bytes, `fetch` does not set a content type of its own, so the file name decides the kind.
    const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const raw = await this.#transport.object({
      method: "PUT",
      path: `/v1/blobs${query({ filename })}`,
      // Storing the same content again gives the same blob.
      isRepeatable: true,
      body,
      headers: kind === undefined ? {} : { "content-type": kind },
    });
    return standsForBlob(raw as unknown as CreateBlobResult);
  }

  /** The content as a `Response` of `fetch`, to read as a stream, text, a `Blob` or bytes. */
  async open(blob: BlobReference): Promise<Response> {
    return this.#transport.send(of("GET", blob));
  }

  /** The whole content of a blob. */
  async read(blob: BlobReference): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(blob)).arrayBuffer());
  }

  /** The whole content of a blob, as text. */
  async readText(blob: BlobReference): Promise<string> {
    return (await this.open(blob)).text();
  }

  /** Size and kind of a blob. */
  async describe(
    blob: BlobReference,
  ): Promise<{ blob_id: string; size_bytes: number; kind: string }> {
    const { headers } = await this.#transport.send(of("HEAD", blob));
    const size_bytes = Number(headers.get("content-length"));
    const kind = headers.get("content-type") ?? "";
    return standsForBlob({ blob_id: blobId(blob), size_bytes, kind });
  }

  /** A page of the blobs, in the order of their ids. */
  async list(
    options: { limit?: number; cursor?: string } = {},
  ): Promise<{ blobs: ListedBlob[]; next_cursor: string | null }> {
    const path = `/v1/blobs${query(options)}`;
    const page = await this.#transport.object({ method: "GET", path, isRepeatable: true });
    return page as unknown as { blobs: ListedBlob[]; next_cursor: string | null };
  }

  /** Removes a blob. */
  async delete(blob: BlobReference): Promise<void> {
    await this.#transport.send({ ...of("DELETE", blob), isRepeatable: false });
  }

  /** Checks the whole content against the id. True if it is intact. */
  async verify(blob: BlobReference): Promise<boolean> {
    const request = of("POST", blob);
    const path = `${request.path}/verify`;
    const answer: JsonObject = await this.#transport.object({ ...request, path });
    return answer["intact"] === true;
  }
}

function of(method: string, blob: BlobReference): WireRequest {
  return { method, path: `/v1/blobs/${segment(blobId(blob))}`, isRepeatable: true };
}

/** Refuses other values: `fetch` would store the text of an object, such as `[object Object]`. */
function checkContent(content: UploadContent): void {
  if (content instanceof ReadableStream) {
    if (canStream()) return;
    throw new TypeError("this browser cannot send streams: pass a `Blob` to `upload`");
  }
  const isBytes = content instanceof ArrayBuffer || ArrayBuffer.isView(content);
  if (typeof content === "string" || isBytes || content instanceof Blob) return;
  throw new TypeError(
    "`upload` takes text, bytes, a `Blob`, a `File` or a `ReadableStream`; " +
      "`Readable.toWeb` converts a stream of Node",
  );
}
