// Speaks with the server. The key stays in the memory of the tab (sessionStorage), and is sent as a
// header: never in an address, which histories and logs would keep.

const KEY = "wardian-key";

/** The caller, as the server sees it: tenant, scopes, credential; null before it is known. */
export const session = { caller: null, needsKey: false };

/** A refusal by the server, or a failure to reach it. */
export class ApiError extends Error {
  constructor(message, { kind = null, status = 0, parameter = null, requestId = null, retryAfter = null } = {}) {
    super(message);
    Object.assign(this, { kind, status, parameter, requestId, retryAfter });
  }
}

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/** True if the caller has a scope. */
export const may = (scope) => session.caller?.scopes.includes(scope) ?? false;

function headers(more = {}) {
  const secret = key.get();
  return secret ? { ...more, Authorization: `Bearer ${secret}` } : more;
}

/** Sends a request. Refusals become errors with the message of the server. */
export async function request(path, { method = "GET", headers: more, body, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method, body, signal, headers: headers(more), cache: "no-store", credentials: "omit", redirect: "error",
    });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new ApiError("the server cannot be reached", { kind: "unreachable" });
  }
  if (answer.ok || answer.status === 304) return answer;
  throw await refusal(answer);
}

async function refusal(answer) {
  let error = {};
  try {
    error = (await answer.json()).error ?? {};
  } catch { /* The body is no JSON: the status says enough. */ }
  const refused = errorOf(error, answer.status, `the server answered with status ${answer.status}`);
  if (answer.status === 401) {
    session.needsKey = true;
    window.dispatchEvent(new CustomEvent("unauthorized"));
  }
  return refused;
}

function errorOf(error, status, message) {
  return new ApiError(error.message ?? message, {
    kind: error.data?.kind, status, parameter: error.data?.parameter,
    requestId: error.data?.request_id, retryAfter: error.data?.retry_after_ms,
  });
}

export const getJson = async (path, options) => (await request(path, options)).json();

let calls = 0;

function envelope(method, params) {
  calls += 1;
  return JSON.stringify({ jsonrpc: "2.0", id: calls, method, params });
}

const JSON_TYPE = { "Content-Type": "application/json" };

function resultOf(response) {
  if (response.error) throw errorOf(response.error, 200, "the call failed");
  return response.result;
}

/** Calls a method of the protocol. */
export async function call(method, params = {}, { signal } = {}) {
  const answer = await request("/rpc", { method: "POST", headers: JSON_TYPE, body: envelope(method, params), signal });
  return resultOf(await answer.json());
}

/** Calls a method that runs a program. `listen(event, data)` hears what it prints while it runs. */
export async function callListening(method, params, listen, { signal } = {}) {
  const answer = await request("/rpc", {
    method: "POST", signal, body: envelope(method, params),
    headers: { ...JSON_TYPE, Accept: "text/event-stream" },
  });
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    return resultOf(await answer.json());
  }
  let response = null;
  await readEvents(answer.body, (event, data) => {
    if (event === "response") response = data;
    else listen(event, data);
  });
  if (!response) throw new ApiError("the connection broke before the run had ended", { kind: "unreachable" });
  return resultOf(response);
}

/** The longest event that is kept, in characters: an answer is bounded by the server at 32 MiB. */
const LONGEST_EVENT = 64 << 20;

/** Reads server-sent events to their end. */
export async function readEvents(stream, listen) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    if (rest.length > LONGEST_EVENT) throw new ApiError("an event is too long");
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const of = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
      const data = of("data");
      if (data.length) listen(of("event")[0] ?? "message", JSON.parse(data.join("\n")));
    }
  }
}

/** Stores a file or a Blob. Returns its id. */
export async function upload(file, name = file.name) {
  const more = file.type ? { "Content-Type": file.type } : {};
  const path = `/v1/blobs${name ? `?filename=${encodeURIComponent(name)}` : ""}`;
  return (await request(path, { method: "PUT", body: file, headers: more })).json();
}

/** The path of a blob. */
export const blobPath = (id) => `/v1/blobs/${encodeURIComponent(id)}`;

/** The first bytes of a blob, with its kind and size. */
export async function readBlob(id, most, { signal } = {}) {
  const answer = await request(blobPath(id), { headers: { Range: `bytes=0-${most - 1}` }, signal })
    .catch((error) => {
      // No byte of an empty blob lies in a range.
      if (error.status === 416) return request(blobPath(id), { signal });
      throw error;
    });
  const kind = answer.headers.get("Content-Type") ?? "application/octet-stream";
  const total = /\/(\d+)$/.exec(answer.headers.get("Content-Range") ?? "")?.[1];
  const content = new Uint8Array(await answer.arrayBuffer());
  return { kind, content, size: total === undefined ? content.length : Number(total) };
}

/** Lets the browser save a blob. */
export async function download(id, name) {
  const answer = await request(blobPath(id));
  const given = /filename="([^"\\/]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1];
  save(await answer.blob(), name ?? given ?? "blob");
}

/** Lets the browser save bytes under a name. The kind is neutral, so nothing is opened. */
export function save(content, name) {
  const address = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Asks who the caller is. A server that asks for no key has the caller `local`. */
export async function identify() {
  try {
    session.caller = await getJson("/v1/caller");
    session.needsKey = session.caller.credential !== null;
    return true;
  } catch (error) {
    if (error.status !== 401) throw error;
    session.caller = null;
    session.needsKey = true;
    return false;
  }
}
