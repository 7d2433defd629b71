/** Values as they are sent: JSON, and ids in the paths of requests. */

/** The id of a blob, or an object that has it, such as the result of `blobs.upload`. */
export type BlobReference = string | { readonly blob_id: string };

/** Results that stand for a blob. They are plain objects, so only this set tells them from others. */
const blobs = new WeakSet<object>();

/** Notes that the object stands for a blob: in a call, the id is sent in its place. */
export function standsForBlob<T extends { blob_id: string }>(result: T): T {
  blobs.add(result);
  return result;
}

/** True for an object that stands for a blob. */
export function isBlob(value: object): value is { blob_id: string } {
  return blobs.has(value);
}

/** The id of a blob. */
export function blobId(blob: BlobReference): string {
  return typeof blob === "string" ? blob : blob.blob_id;
}

/** Prints JSON. A number that JSON does not have is refused; `JSON.stringify` would send `null`. */
export function printJson(value: unknown): string {
  return JSON.stringify(value, (name: string, member: unknown) => {
    if (typeof member === "number" && !Number.isFinite(member)) {
      throw new TypeError(`\`${name}\` is ${member}, which JSON does not have`);
    }
    if (typeof member !== "object" || member === null || !blobs.has(member)) return member;
    return (member as { blob_id: string }).blob_id;
  });
}

/**
 * The id as one segment of a path. `fetch` resolves empty segments and dots, so such an id would
 * reach another address.
 */
export function segment(id: string): string {
  if (typeof id !== "string" || ["", ".", ".."].includes(id)) {
    throw new TypeError(`${JSON.stringify(id)} is not an id`);
  }
  return encodeURIComponent(id);
}

/** The query of a URL, without what is not set. */
export function query(members: Record<string, string | number | undefined>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) found.set(name, String(value));
  }
  return found.size > 0 ? `?${found}` : "";
}
