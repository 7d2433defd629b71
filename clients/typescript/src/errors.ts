/**
 * The errors of this package. A call that the server refuses throws a `CallError`, with a stable
 * `kind`. A program that fails is a result, not an error: its `status` is then `failed`.
 */

import type { ErrorData, ErrorKind, JsonObject, RunResult } from "./schema.js";

/** Base of all errors of this package. */
export class WardianError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The details of a refusal. */
export interface CallErrorDetails {
  code?: number;
  kind?: ErrorKind | "";
  parameter?: string | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  httpStatus?: number;
}

/** The server refused a call. */
export class CallError extends WardianError {
  /** The kind of the error; empty for an answer that is not the server's own. */
  readonly kind: ErrorKind | "";
  /** The JSON-RPC error code. */
  readonly code: number;
  /** The parameter that caused the error. */
  readonly parameter: string | undefined;
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;
  /** The time after which a repetition can succeed. Set only if nothing was executed. */
  readonly retryAfterMs: number | undefined;
  readonly httpStatus: number;

  constructor(message: string, details: CallErrorDetails = {}) {
    super(message);
    this.kind = details.kind ?? "";
    this.code = details.code ?? 0;
    this.parameter = details.parameter;
    this.requestId = details.requestId;
    this.retryAfterMs = details.retryAfterMs;
    this.httpStatus = details.httpStatus ?? 200;
  }
}

/** True for a refusal of this kind. */
export function isRefusal(error: unknown, kind: ErrorKind): error is CallError {
  return error instanceof CallError && error.kind === kind;
}

/** The server was not reached, did not answer in time, or the connection broke. */
export class ConnectionFailed extends WardianError {
  constructor(
    message: string,
    /** Whether the server may have received the request, and executed it. */
    readonly mayHaveRun: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The answer does not follow the protocol: the server at this address is not Wardian. */
export class BadAnswer extends WardianError {}

/** The run did not leave a file of this name. The message names those that it left. */
export class NoSuchFile extends WardianError {}

/** The run left the file, but its content was not stored. The message says how to store it. */
export class FileNotKept extends WardianError {}

/** A program failed. Thrown by `completed` and by calls of `client.skills`. */
export class RunFailed extends WardianError {
  constructor(readonly result: RunResult) {
    super(result.summary);
  }
}

/** A run in the background ended without a result: it was refused, or the server stopped. */
export class RunWithoutResult extends WardianError {
  constructor(readonly record: JsonObject) {
    super(`run ${String(record["run_id"])} ended as ${String(record["outcome"])} and has no result`);
  }
}

/** A run in the background has not ended within the time that the client waited. */
export class RunNotEnded extends WardianError {
  constructor(readonly record: JsonObject) {
    super(`run ${String(record["run_id"])} is still ${String(record["status"])}`);
  }
}

/** Returns the result if its program returned; otherwise throws `RunFailed`. */
export function completed(result: RunResult): RunResult {
  if (result.status === "completed") return result;
  throw new RunFailed(result);
}

/** The error for the `error` member of an answer. */
export function errorOf(error: unknown, httpStatus: number, retryAfterMs?: number): CallError {
  const { code, message, data } = (error ?? {}) as {
    code?: number;
    message?: string;
    data?: Partial<ErrorData>;
  };
  return new CallError(message ?? "the server refused the call", {
    code: code ?? 0,
    kind: (data?.kind ?? "") as ErrorKind | "",
    parameter: data?.parameter,
    requestId: data?.request_id,
    retryAfterMs: data?.retry_after_ms ?? retryAfterMs,
    httpStatus,
  });
}
