/**
 * Checks the address and the key of a client before anything is sent. Both may be secret, so messages
 * do not contain their values.
 */

/** The address without trailing slashes and `/rpc`. */
export function checkedUrl(text: string): string {
  const url = text.trim();
  const parsed = parsedUrl(url);
  if (!["http:", "https:"].includes(parsed.protocol)) {
    throw new TypeError("`url` must begin with http:// or https://");
  }
  if (parsed.username !== "" || parsed.password !== "") {
    throw new TypeError("`url` must not have a user or a password: pass a key as `apiKey`");
  }
  if (/[?#]/.test(url)) throw new TypeError("`url` must not have a query or a fragment");
  return url.replace(/\/+$/, "").replace(/\/rpc$/, "");
}

function parsedUrl(url: string): URL {
  // In a browser the address may be relative to that of the page, as for `fetch`.
  const { location } = globalThis as { location?: { href: string } };
  try {
    return new URL(url, location?.href);
  } catch {
    // The error of `URL` contains the whole text, so it is not set as the cause.
    throw new TypeError("`url` must be an address, such as http://127.0.0.1:8080");
  }
}

/** The headers of all requests. A key from a file often ends with a line break, which is removed. */
export function keyHeaders(apiKey: string | undefined): Record<string, string> {
  const key = (apiKey ?? "").trim();
  if (key === "") return {};
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("`apiKey` must contain only visible ASCII characters, without spaces or line breaks");
  }
  return { authorization: `Bearer ${key}` };
}
