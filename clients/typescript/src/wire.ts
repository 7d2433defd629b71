/** How values are sent: as JSON, and as ids in the paths of requests. */

/** The id of a blob, or an object with the id, such as the result of `blobs.upload`. */
export type BlobReference = string | { readonly blob_id: string };

/** Results that stand for a blob. They are plain objects, so only this set identifies them. */
const blobs = new WeakSet<object>();

/** Marks an object that stands for a blob: calls send the id instead. */
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

/** Prints JSON. Refuses a number that JSON cannot represent; `JSON.stringify` would send `null`. */
export function printJson(value: unknown): string {
  return JSON.stringify(value, (name: string, member: unknown) => {
    if (typeof member === "number" && !Number.isFinite(member)) {
      throw new TypeError(`\`${name}\` is ${member}, which JSON cannot represent`);
    }
    if (typeof member !== "object" || member === null || !blobs.has(member)) return member;
    return (member as { blob_id: string }).blob_id;
  });
}

/**
 * The id as one segment of a path. Refuses empty ids and dots: `fetch` resolves them, so they would
 * lead to another address.
 */
export function segment(id: string): string {
  if (typeof id !== "string" || ["", ".", ".."].includes(id)) {
    throw new TypeError(`${JSON.stringify(id)} is not an id`);
  }
  return encodeURIComponent(id);
}

/** The query of a URL, without undefined members. */
export function query(members: Record<string, string | number | undefined>): string {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) found.set(name, String(value));
  }
  return found.size > 0 ? `?${found}` : "";
}
