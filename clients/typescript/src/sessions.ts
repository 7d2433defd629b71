/// <reference lib="esnext.disposable" preserve="true" />
/** Sessions: interpreters that several calls use one after another. */

import { answered } from "./answering.js";
import { CallError, isRefusal } from "./errors.js";
import {
  type Answers,
  answersOf,
  type CallerFunctions,
  declared,
  orRefusing,
  type SentAnswers,
} from "./requests.js";
import type { RunStream } from "./runs.js";
import { SessionFiles } from "./session_files.js";
import type { JsonObject, RunCodeParams, RunResult } from "./schema.js";
import type { Transport } from "./transport.js";
import { type BlobReference, blobId, printJson, query, segment } from "./wire.js";

/** A session with its checkpoints. */
export interface SessionDetail extends SessionInfo {
  checkpoints: Checkpoint[];
  /** The cell of the first checkpoint that is not in the list, if there are more than 1,000. */
  left_out_from_cell?: number;
}

/** A session. Times are in milliseconds since 1970, like those of runs. */
export interface SessionInfo {
  id: string;
  label: string | null;
  created_ms: number;
  /** When it was made, restored or last ran a cell. */
  used_ms: number;
  /** When it ends unless it is used before. */
  expires_ms: number;
  /** The number of its last cell. A fork counts on from the cell that it was made after. */
  cells: number;
  /** The state that it is at; null before the end of its first cell. */
  checkpoint: string | null;
  /** Whether a worker has its state in memory, so that the next cell begins sooner. */
  is_warm: boolean;
  /** The size of that memory, if it is known. */
  guest_memory_bytes: number | null;
  /** What its states take on the server's disk that it alone needs. Closing it frees them. */
  parked_own_bytes: number;
  /** What its states take that other sessions need too: it was forked, or is a fork. */
  parked_shared_bytes: number;
  /** The state that it was forked from. Neither need exist any more. */
  forked_from: { session: string; checkpoint: string } | null;
  /** The run of its cell that is running. */
  run_id: string | null;
}

/** The state of a session after a cell. */
export interface Checkpoint {
  id: string;
  /** The checkpoint that its cell began with. */
  parent: string | null;
  /** The number of the cell. */
  cell: number;
  name: string | null;
  created_ms: number;
  /** The size of its data on the server's disk. */
  bytes: number;
}

/** One call in a session. */
export interface Cell {
  number: number;
  /** The code, if the server keeps it. */
  source: string | null;
  state: "running" | "waiting" | "kept" | "rolled_back";
  /** The state after the cell, if it was kept and still exists. */
  checkpoint: string | null;
  began_ms: number;
  /** The result, if the cell has ended and the server keeps results. */
  result: RunResult | null;
  /** Why the cell is rolled back, if its result does not say so: the server stopped, for example. */
  reason?: string;
  /** True if it was kept, and the session has gone back to a checkpoint before it. */
  left?: boolean;
}

/** A page of the sessions, and what all sessions of the tenant take. */
export interface SessionPage {
  sessions: SessionInfo[];
  /** The `cursor` of the next page; null on the last one. */
  next_cursor: string | null;
  usage: { sessions: number; bytes: number };
}

/** A fork, or why it was not made. */
type Fork = SessionInfo | { error: string };

/** Parameters of a new session. */
export interface SessionParams {
  label?: string | undefined;
  mount_skills?: string[] | undefined;
  /** Ids, or results of `blobs.upload` and `createBlob`. */
  input_blobs?: BlobReference[] | undefined;
  /** Memory and workspace of the session. `timeout_ms` and `host_calls` are limits of a cell. */
  limits?: RunCodeParams["limits"];
  /** Give each cell the same result, fuel and memory whenever it is repeated. */
  reproducible?: boolean | { seed?: number | undefined; epoch?: number | undefined } | undefined;
  /** How long the session lives without a cell, if that is less than the server's setting. */
  idle_ms?: number | undefined;
  /** How long it lives at most, if that is less than the server's setting. */
  max_age_ms?: number | undefined;
}

/** What becomes of a session whose scope ends. */
export interface KeepOption {
  /** True if `await using` does not close the session. */
  keep?: boolean | undefined;
}

/** Parameters of a cell, without its code. */
export type CellParams = Pick<
  RunCodeParams,
  "keep_files" | "strict_output" | "timeout_ms" | "limits" | "label"
> & {
  /** Refuse the cell if the session is not at this checkpoint. */
  if_checkpoint?: CheckpointReference | undefined;
  /**
   * How long to wait for the end of another cell: at most ten minutes. Without it, a busy session
   * refuses the cell.
   */
  wait_ms?: number | undefined;
  /** Aborts the call, and stops the cell. */
  signal?: AbortSignal | undefined;
};

/** The id of a checkpoint, or the checkpoint. */
export type CheckpointReference = string | Pick<Checkpoint, "id">;

/** The parts of a client that sessions need. */
export interface SessionClient {
  transport: Transport;
  run: (params: SessionCall, signal?: AbortSignal) => Promise<RunResult>;
  stream: (params: SessionCall, signal?: AbortSignal) => RunStream;
}

/** A call of `run_code` in a session. */
export type SessionCall = Omit<CellParams, "if_checkpoint" | "wait_ms" | "signal"> &
  Pick<RunCodeParams, "tools" | "answers" | "abandon"> & {
  code: string;
  session: Exclude<RunCodeParams["session"], string | undefined>;
};

/**
 * A live interpreter. Variables, imports and files of a cell are available to the next one. Close it
 * with `close`, or with `await using session = await client.session()`. A session that is not closed
 * expires once it has been idle for too long.
 */
export class Session implements AsyncDisposable {
  readonly id: string;
  readonly label: string | null;
  readonly keep: boolean;
  readonly #client: SessionClient;
  #checkpoint: string | null;

  constructor(client: SessionClient, info: SessionInfo, keep: boolean) {
    this.#client = client;
    this.id = info.id;
    this.label = info.label;
    this.keep = keep;
    this.#checkpoint = info.checkpoint;
  }

  /**
   * The id of the state at which this client last saw the session; null before its first cell. Other
   * clients may have moved it on: `info` asks the server.
   */
  get checkpoint(): string | null {
    return this.#checkpoint;
  }

  /** The files in the working folder of the session. */
  get files(): SessionFiles {
    return new SessionFiles(this.#client.transport, this.#path, (checkpoint) => {
      this.#checkpoint = checkpoint;
    });
  }

  /**
   * Runs Python code as the next cell. If the program fails, the result has `status: "failed"`, and
   * what it did until then stays. `result.session` is the state of the session after the cell:
   * `rolled_back` means that the cell left no trace, for example because it was stopped by force.
   *
   * The functions answer what the code asks for. If there is none for a request, the result has
   * `status: "waiting"` and `requests`, and `answer` goes on.
   */
  async run(code: string, params: CellParams & CallerFunctions = {}): Promise<RunResult> {
    return this.#served(this.#call(code, params), params);
  }

  /**
   * Lets a cell go on that waits, with the answer to each of its requests. That to a request for an approval
   * is `true`, `false`, or `{ arguments: {...} }`: yes, with these arguments. The functions answer further
   * ones; tools that are left out stay declared.
   */
  async answer(
    answers: Answers,
    params: CellParams & CallerFunctions = {},
  ): Promise<RunResult> {
    return this.#served({ ...this.#call("", params), answers: answersOf(answers) }, params);
  }

  /** Ends a cell that waits. It leaves no trace. */
  async abandon(): Promise<RunResult> {
    return this.#seen(await this.#client.run({ ...this.#call("", {}), abandon: true }));
  }

  /** Runs Python code as the next cell and streams its output. Leaving the loop stops the cell. */
  stream(code: string, { signal, ...params }: CellParams = {}): RunStream {
    const run = this.#client.stream(this.#call(code, params), signal);
    run.onResult = (result) => this.#seen(result);
    return run;
  }

  /** The session as the server has it, with its checkpoints. */
  async info(): Promise<SessionDetail> {
    const info = (await this.#get("")) as unknown as SessionDetail;
    this.#checkpoint = info.checkpoint;
    return info;
  }

  /** The states that the session can be set back to. */
  async checkpoints(): Promise<Checkpoint[]> {
    return (await this.info()).checkpoints;
  }

  /** The cells after the cell with the number `after`, with their results: at most `limit`, or all. */
  async cells(options: { after?: number; limit?: number } = {}): Promise<Cell[]> {
    const { limit = Number.POSITIVE_INFINITY } = options;
    const found: Cell[] = [];
    let after = options.after ?? 0;
    while (found.length < limit) {
      const left = Number.isFinite(limit) ? limit - found.length : undefined;
      const page = await this.#get(`/cells${query({ after, limit: left })}`);
      const cells = page["cells"] as unknown as Cell[];
      const last = cells.at(-1)?.number ?? 0;
      if (last <= after) break;
      found.push(...cells);
      after = last;
    }
    return found;
  }

  /** The cells and their outputs as a Jupyter notebook (nbformat 4). */
  notebook(): Promise<JsonObject> {
    return this.#get("/notebook");
  }

  /** The record of a reproducible session: its cells, with what came out of them. */
  record(): Promise<JsonObject> {
    return this.#get("/record");
  }

  /**
   * New sessions that begin with the state of this one, or with that of an earlier checkpoint. Each is
   * closed on its own. Forks of a reproducible session draw the same random numbers as it does, unless
   * they get a `seed`. If the tenant may not have so many sessions, the call is refused with
   * `quota_exceeded`, and leaves no fork.
   */
  async fork(
    count = 1,
    options: {
      checkpoint?: CheckpointReference | undefined;
      seed?: number | undefined;
    } & KeepOption = {},
  ): Promise<Session[]> {
    const body = { count, checkpoint: idOf(options.checkpoint), seed: options.seed };
    const { forks } = (await this.#post("fork", body, false)) as unknown as { forks: Fork[] };
    const made: Session[] = [];
    let refusal: string | undefined;
    for (const one of forks) {
      if ("error" in one) refusal = one.error;
      else made.push(new Session(this.#client, one, options.keep ?? this.keep));
    }
    if (refusal === undefined) return made;
    // The refusal is more important than an error of the cleanup: a fork that is left expires.
    await Promise.allSettled(made.map((fork) => fork.close()));
    throw new CallError(refusal, { kind: "quota_exceeded" });
  }

  /** Sets the session back to the state after an earlier cell. */
  async restore(checkpoint: CheckpointReference): Promise<SessionInfo> {
    const body = { checkpoint: idOf(checkpoint) };
    const info = (await this.#post("restore", body, true)) as unknown as SessionInfo;
    this.#checkpoint = info.checkpoint;
    return info;
  }

  /**
   * Names a checkpoint, or the current one for null. The server keeps named checkpoints as long as the
   * session.
   */
  async name(checkpoint: CheckpointReference | null, name: string): Promise<Checkpoint> {
    const body = { checkpoint: idOf(checkpoint ?? undefined), name };
    return (await this.#post("checkpoints", body, true)) as unknown as Checkpoint;
  }

  /** Removes a checkpoint. The one that the session is at is refused with `session_conflict`. */
  async forget(checkpoint: CheckpointReference): Promise<void> {
    const path = `${this.#path}/checkpoints/${segment(idOf(checkpoint))}`;
    await this.#client.transport.send({ method: "DELETE", path, isRepeatable: false });
  }

  /**
   * Interrupts the cell that is running, like Ctrl-C: it gets a `KeyboardInterrupt`. False if no cell
   * is running.
   */
  async interrupt(): Promise<boolean> {
    return (await this.#post("interrupt", {}, false))["interrupted"] === true;
  }

  /** Closes the session and deletes its states, unless it has been closed or has expired. */
  async close(): Promise<void> {
    try {
      await this.#client.transport.send({ method: "DELETE", path: this.#path, isRepeatable: true });
    } catch (error) {
      const isOver = isRefusal(error, "session_not_found") || isRefusal(error, "session_expired");
      if (!isOver) throw error;
    }
  }

  /** Closes the session at the end of the scope of `await using`, unless it is kept. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.keep) await this.close();
  }

  get #path(): string {
    return pathOf(this.id);
  }

  #call(code: string, given: CellParams & CallerFunctions): SessionCall {
    const { if_checkpoint, wait_ms, signal: _signal, tools: _tools, onInput: _, ...params } = given;
    const session = { id: this.id, if_checkpoint: idOf(if_checkpoint), wait_ms };
    return { ...params, code, session };
  }

  /** Runs a cell, and answers its requests until it has ended or asks what no function answers. */
  async #served(call: SessionCall, params: CellParams & CallerFunctions): Promise<RunResult> {
    const { signal } = params;
    const tools = declared(params);
    const functions = orRefusing(params);
    const begun = this.#seen(await this.#client.run({ ...call, tools }, signal));
    const send = async (answers: SentAnswers): Promise<RunResult> => {
      return this.#seen(await this.#client.run({ ...this.#call("", params), answers }, signal));
    };
    const { transport } = this.#client;
    return answered(begun, { transport, functions, send, isProgram: false, signal });
  }

  /** Notes where the session is after a cell. */
  #seen(result: RunResult): RunResult {
    if (result.session !== undefined) this.#checkpoint = result.session.checkpoint;
    return result;
  }

  #get(path: string): Promise<JsonObject> {
    const request = { method: "GET", path: this.#path + path, isRepeatable: true };
    return this.#client.transport.object(request);
  }

  #post(what: string, body: object, isRepeatable: boolean): Promise<JsonObject> {
    return post(this.#client.transport, `${this.#path}/${what}`, body, isRepeatable);
  }
}

/** Makes a session. */
export async function newSession(
  client: SessionClient,
  { keep = false, input_blobs, ...params }: SessionParams & KeepOption,
): Promise<Session> {
  const body = { ...params, input_blobs: input_blobs?.map(blobId) };
  const info = await post(client.transport, "/v1/sessions", body, false);
  return new Session(client, info as unknown as SessionInfo, keep);
}

/** Finds a session. */
export async function openSession(
  client: SessionClient,
  id: string,
  { keep = true }: KeepOption,
): Promise<Session> {
  const request = { method: "GET", path: pathOf(id), isRepeatable: true };
  const info = await client.transport.object(request);
  return new Session(client, info as unknown as SessionInfo, keep);
}

/** A page of the sessions. */
export async function listSessions(
  client: SessionClient,
  options: { limit?: number; cursor?: string },
): Promise<SessionPage> {
  const request = { method: "GET", path: `/v1/sessions${query(options)}`, isRepeatable: true };
  return (await client.transport.object(request)) as unknown as SessionPage;
}

async function post(
  transport: Transport,
  path: string,
  body: object,
  isRepeatable: boolean,
): Promise<JsonObject> {
  const headers = { "content-type": "application/json" };
  return transport.object({ method: "POST", path, isRepeatable, body: printJson(body), headers });
}

function pathOf(id: string): string {
  return `/v1/sessions/${segment(id)}`;
}

function idOf(checkpoint: CheckpointReference): string;
function idOf(checkpoint: CheckpointReference | undefined): string | undefined;
function idOf(checkpoint: CheckpointReference | undefined): string | undefined {
  return typeof checkpoint === "object" ? checkpoint.id : checkpoint;
}
