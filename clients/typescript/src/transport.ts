/** Sends requests, and repeats those that may be repeated. */

import { BadAnswer, CallError, ConnectionFailed, errorOf } from "./errors.js";
import type { ErrorKind, JsonObject } from "./schema.js";

/**
 * How often and how long requests are repeated.
 *
 * A request is repeated if the server refused it with 429 or 503 and `Retry-After`, which means that
 * nothing was executed, or if `fetch` reports that no connection was made: Node does, browsers do not.
 * If the connection may have broken later, the request is repeated only if it reads, or has an
 * idempotency key.
 */
export interface RetryPolicy {
  /** Maximum number of times that a request is sent. Default 4. */
  attempts?: number;
  /** Maximum total of all pauses of a request. Default one minute. */
  longestWaitMs?: number;
}

/** A request that may be sent more than once. */
export interface WireRequest {
  method: string;
  path: string;
  /** Whether executing it twice has the same effect as executing it once. */
  isRepeatable: boolean;
  body?: BodyInit | undefined;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
}

export const EVENTS = "text/event-stream";

const FIRST_PAUSE_MS = 200;
const RETRIED: readonly string[] = ["rate_limited", "overloaded"];

/** The remaining attempts and time for one request. */
export class Patience {
  #sent = 1;
  #waited = 0;
  readonly #attempts: number;
  readonly #longest: number;

  constructor(policy: RetryPolicy) {
    this.#attempts = policy.attempts ?? 4;
    this.#longest = policy.longestWaitMs ?? 60_000;
  }

  /** The pause before the request is sent again; undefined if it is not sent again. */
  pause(least?: number): number | undefined {
    if (this.#sent >= this.#attempts) return undefined;
    const usual = FIRST_PAUSE_MS * 2 ** (this.#sent - 1);
    // Jitter: clients that were refused together must not return together.
    const pause = (least ?? usual) * (1 + Math.random() / 4);
    if (this.#waited + pause > this.#longest) return undefined;
    this.#sent += 1;
    this.#waited += pause;
    return pause;
  }
}

/** The time in `Retry-After`. */
export function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get("retry-after");
  if (value === null) return undefined;
  if (/^\d+$/.test(value.trim())) return Number(value) * 1_000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - Date.now());
}

/** The connections to one server. The headers contain the key, so logs must not show these fields. */
export class Transport {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #fetched: typeof fetch;
  readonly #retry: RetryPolicy;
  readonly #timeoutMs: number;

  constructor(
    url: string,
    headers: Record<string, string>,
    fetched: typeof fetch,
    retry: RetryPolicy,
    timeoutMs: number,
  ) {
    this.#url = url;
    this.#headers = headers;
    this.#fetched = fetched;
    this.#retry = retry;
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a request. Throws the error of a refusal. Does not read the body of the answer. */
  async send(request: WireRequest): Promise<Response> {
    const isStream = request.body instanceof ReadableStream;
    // A stream can be read only once, so the request cannot be repeated.
    const patience = new Patience(isStream ? { attempts: 1 } : this.#retry);
    for (;;) {
      // An invalid header or signal is not a connection error, so this is outside of the `try`.
      const init = this.#init(request);
      let pause: number | undefined;
      try {
        // Browsers require that `fetch` is called as a plain function, not as a method.
        const fetched = this.#fetched;
        const response = await fetched(this.#url + request.path, init);
        const error = await failure(response, request);
        if (error === undefined) return response;
        pause = mayBeRepeated(error) ? patience.pause(error.retryAfterMs) : undefined;
        if (pause === undefined) throw error;
      } catch (fault) {
        const mayHaveRun = isConnectionFault(fault, request.signal);
        if (mayHaveRun === undefined) throw fault;
        pause = request.isRepeatable || !mayHaveRun ? patience.pause() : undefined;
        if (pause === undefined) {
          const { cause, message } = fault as Error;
          const reason = cause instanceof Error ? cause.message : message;
          throw new ConnectionFailed(`${this.#url}: ${reason}`, mayHaveRun, { cause: fault });
        }
      }
      await sleep(pause, request.signal);
    }
  }

  /** The object that an answer consists of. */
  async object(request: WireRequest): Promise<JsonObject> {
    return objectIn(await (await this.send(request)).text());
  }

  #init(request: WireRequest): RequestInit {
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    const init: RequestInit & { duplex?: "half" } = {
      method: request.method,
      headers: new Headers({ ...this.#headers, ...request.headers }),
      signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
    };
    if (request.body !== undefined) init.body = request.body;
    if (request.body instanceof ReadableStream) init.duplex = "half";
    return init;
  }
}

/** Whether `fetch` can send streams. Other browsers would send the text `[object ReadableStream]`. */
export function canStream(): boolean {
  const init = { method: "PUT", body: new ReadableStream(), duplex: "half" };
  // Text has a content type, a stream has none.
  return !new Request("http://localhost", init).headers.has("content-type");
}

/** Node's codes for failed connections, and its message for a port that it refuses. */
const NOT_CONNECTED: readonly unknown[] = [
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
  "bad port",
];

/** Whether the request may have been executed, for a connection error; undefined for others. */
function isConnectionFault(fault: unknown, signal: AbortSignal | undefined): boolean | undefined {
  if (!(fault instanceof Error) || signal?.aborted) return undefined;
  if (fault.name === "TimeoutError") return true;
  if (!(fault instanceof TypeError)) return undefined;
  const { code, message } = (fault.cause ?? {}) as { code?: unknown; message?: unknown };
  return !NOT_CONNECTED.includes(code ?? message);
}

/** The error in an answer, if it has one. */
async function failure(
  response: Response,
  { method, path }: WireRequest,
): Promise<CallError | undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && (path !== "/rpc" || !type.includes("json"))) return undefined;
  const text = await response.clone().text();
  const delay = retryAfterMs(response.headers);
  let body: { error?: unknown } | undefined;
  try {
    body = JSON.parse(text) as { error?: unknown };
  } catch {
    body = undefined;
  }
  if (body?.error !== undefined && body.error !== null) {
    return errorOf(body.error, response.status, delay);
  }
  if (response.ok) return undefined;
  const message = `the server answered with status ${response.status}`;
  if (isForeign(response, method)) {
    const hint = "but not with an error of Wardian: is this the URL of a Wardian server?";
    throw new BadAnswer(`${message}, ${hint}`);
  }
  return new CallError(message, {
    kind: method === "HEAD" ? (HEAD_KINDS[response.status] ?? "") : "",
    requestId: response.headers.get("x-request-id") ?? undefined,
    httpStatus: response.status,
    retryAfterMs: delay,
  });
}

/**
 * True for a refusal that neither a Wardian server nor a proxy before one sends. A server identifies
 * the request; the status of a proxy means that the server cannot be reached or that the caller is not
 * allowed.
 */
function isForeign({ status, headers }: Response, method: string): boolean {
  const isOfProxy = [401, 403, 413, 429].includes(status) || (status >= 500 && status !== 501);
  // An answer to `HEAD` has no body for the error.
  return !isOfProxy && method !== "HEAD" && !headers.has("x-request-id");
}

/** The kinds for answers to `HEAD`, which have no body. Only blobs are requested in this way. */
const HEAD_KINDS: Readonly<Record<number, ErrorKind>> = {
  400: "invalid_params",
  401: "unauthorized",
  403: "forbidden",
  404: "blob_not_found",
  429: "rate_limited",
  500: "internal",
  503: "overloaded",
};

/** True if the error says that nothing was executed and that waiting helps. */
function mayBeRepeated(error: CallError): boolean {
  const isUnknown = error.kind === "" && [429, 503].includes(error.httpStatus);
  return (RETRIED.includes(error.kind) || isUnknown) && error.retryAfterMs !== undefined;
}

/** The object in a text of JSON. */
export function objectIn(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadAnswer("the answer is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BadAnswer("the answer should be an object");
  }
  return value as JsonObject;
}

/** The result in a JSON-RPC response. */
export function resultIn(text: string): JsonObject {
  const body = objectIn(text);
  if (body["error"] !== undefined && body["error"] !== null) throw errorOf(body["error"], 200);
  const result = body["result"];
  if (typeof result !== "object" || result === null || Array.isArray(result)) {
    throw new BadAnswer("the answer has neither a result nor an error");
  }
  return result;
}

/** Waits, unless the signal aborts. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
