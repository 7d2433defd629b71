/** The pictures in answers, as models see them. */

import type { Client } from "./client.js";
import { WardianError } from "./errors.js";
import type { JsonObject, RunFile } from "./schema.js";

/** A picture in an answer: base64 and MIME type. */
export interface Picture {
  data: string;
  mediaType: string;
}

const KINDS: readonly string[] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MOST = 4;
const MOST_LOOKED_AT = 16;
const LARGEST = 1 << 20;
const LARGEST_TOGETHER = 2 << 20;

/**
 * The first pictures of an answer: at most four, 2 MiB in total. Pictures that cannot be shown are
 * omitted; the answer still names them.
 */
export async function picturesOf(
  client: Client,
  params: JsonObject,
  result: JsonObject,
): Promise<Picture[]> {
  const shown: Picture[] = [];
  let room = LARGEST_TOGETHER;
  for (const id of candidates(params, result)) {
    if (shown.length === MOST) break;
    try {
      const { kind, size_bytes } = await client.blobs.describe(id);
      if (!KINDS.includes(kind) || size_bytes > Math.min(room, LARGEST)) continue;
      const bytes = await client.blobs.read(id);
      const mediaType = kindOf(bytes);
      if (mediaType === undefined || bytes.length > room) continue;
      room -= bytes.length;
      shown.push({ data: base64(bytes), mediaType });
    } catch (error) {
      if (!(error instanceof WardianError)) throw error;
    }
  }
  return shown;
}

function candidates(params: JsonObject, result: JsonObject): string[] {
  const ids = new Set<string>();
  const isSample = typeof result["kind"] === "string" && KINDS.includes(result["kind"]);
  if (isSample && typeof params["blob_id"] === "string") ids.add(params["blob_id"]);
  for (const file of (result["files"] ?? []) as unknown as RunFile[]) {
    if (file.blob_id !== undefined && KINDS.includes(file.kind ?? "")) ids.add(file.blob_id);
  }
  for (const id of (result["output_blobs"] ?? []) as string[]) ids.add(id);
  return [...ids].slice(0, MOST_LOOKED_AT);
}

/**
 * The kind of a picture, from its first bytes. A blob with the kind of a picture may not be one, and a
 * picture that a model cannot read breaks the whole conversation.
 */
function kindOf(bytes: Uint8Array): string | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, 12));
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8) === "WEBP") return "image/webp";
  return undefined;
}

function base64(bytes: Uint8Array): string {
  let text = "";
  // A call with all bytes as arguments would be too long.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  }
  return btoa(text);
}
