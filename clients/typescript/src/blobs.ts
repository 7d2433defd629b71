/** Blobs of any size. */

import type { CreateBlobResult, JsonObject } from "./schema.js";
import { query } from "./runs.js";
import type { Transport, WireRequest } from "./transport.js";

/** A blob of a list. Times are milliseconds since 1970. */
export interface ListedBlob {
  blob_id: string;
  kind: string | null;
  size_bytes: number;
  created_ms: number;
  last_used_ms: number;
}

/** The kind of an upload. Without both, the server stores bytes of no known kind. */
export interface UploadOptions {
  /** MIME type. */
  kind?: string;
  /** Name of the file, whose extension decides if there is no kind. */
  filename?: string;
}

/** The blobs of the tenant: `client.blobs`. */
export class Blobs {
  constructor(private readonly transport: Transport) {}

  /**
   * Stores bytes, a text, or a `Blob` or `File`, such as one of a form or of `fs.openAsBlob`.
   */
  async upload(
    content: string | ArrayBuffer | Uint8Array<ArrayBuffer> | Blob,
    options: UploadOptions = {},
  ): Promise<CreateBlobResult> {
    const isFile = typeof File !== "undefined" && content instanceof File;
    const filename = options.filename ?? (isFile ? content.name : undefined);
    const own = content instanceof Blob && content.type !== "" ? content.type : undefined;
    const kind = options.kind ?? own ?? (typeof content === "string" ? "text/plain" : undefined);
    // A body without a type has none of `fetch`'s own, so that the name of the file decides.
    const body = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const raw = await this.transport.object({
      method: "PUT",
      path: `/v1/blobs${query({ filename })}`,
      // The same content is the same blob, however often it is stored.
      isRepeatable: true,
      body,
      headers: kind === undefined ? {} : { "content-type": kind },
    });
    return raw as unknown as CreateBlobResult;
  }

  /** The content as an answer of `fetch`: a stream, a text, a `Blob`, or bytes. */
  open(blobId: string): Promise<Response> {
    return this.transport.send(of("GET", blobId));
  }

  /** All of a blob. */
  async read(blobId: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.open(blobId)).arrayBuffer());
  }

  /** All of a blob, as text. */
  async readText(blobId: string): Promise<string> {
    return (await this.open(blobId)).text();
  }

  /** Size and kind of a blob. */
  async describe(blobId: string): Promise<{ blob_id: string; size_bytes: number; kind: string }> {
    const { headers } = await this.transport.send(of("HEAD", blobId));
    const size = Number(headers.get("content-length"));
    return { blob_id: blobId, size_bytes: size, kind: headers.get("content-type") ?? "" };
  }

  /** A page of the blobs, in the order of their ids. */
  async list(
    options: { limit?: number; cursor?: string } = {},
  ): Promise<{ blobs: ListedBlob[]; next_cursor: string | null }> {
    const path = `/v1/blobs${query(options)}`;
    const page = await this.transport.object({ method: "GET", path, isRepeatable: true });
    return page as unknown as { blobs: ListedBlob[]; next_cursor: string | null };
  }

  /** Removes a blob. */
  async delete(blobId: string): Promise<void> {
    await this.transport.send({ ...of("DELETE", blobId), isRepeatable: false });
  }

  /** Compares the whole content with the id. True if it is intact. */
  async verify(blobId: string): Promise<boolean> {
    const request = of("POST", blobId);
    const path = `${request.path}/verify`;
    const answer: JsonObject = await this.transport.object({ ...request, path });
    return answer["intact"] === true;
  }
}

function of(method: string, blobId: string): WireRequest {
  return { method, path: `/v1/blobs/${encodeURIComponent(blobId)}`, isRepeatable: true };
}
