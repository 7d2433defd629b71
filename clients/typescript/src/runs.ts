/** Runs: streamed ones, those in the background, and the records of all runs. */

import { taken } from "./answering.js";
import { BadAnswer, isRefusal, RunNotEnded, RunWithoutResult } from "./errors.js";
import { EventReader, type ServerEvent } from "./events.js";
import {
  type Answers,
  answersOf,
  type CallerFunctions,
  knows,
  type SentAnswers,
  served,
  unapproved,
} from "./requests.js";
import type {
  DetachedRun,
  JsonObject,
  LeftOutEvent,
  OutputEvent,
  ProgressEvent,
  RequestEvent,
  RunResult,
} from "./schema.js";
import { EVENTS, objectIn, resultIn, type Transport, type WireRequest } from "./transport.js";
import { printJson, query, segment } from "./wire.js";

/** An event of a run in progress. */
export type RunEvent =
  | ({ type: "output" } & OutputEvent)
  | ({ type: "progress" } & ProgressEvent)
  | ({ type: "request" } & RequestEvent)
  | ({ type: "left_out" } & LeftOutEvent);

/** The record of a run, with its result if it ran in the background. It has further members. */
export type RunRecord = JsonObject & {
  run_id: string;
  status: DetachedRun["status"];
  kind: "run_code" | "execute_skill";
};

const LONGEST_WAIT_MS = 20_000;

/** The pause before the next request if a busy server answers without waiting. */
const PAUSE_MS = 1_000;

/**
 * A run that streams its output. Iterate over its events; `result` is available at the end. Leaving
 * the loop early stops the run. Functions answer what the program asks while the events are read; a
 * request without a function is an event, and `answer` answers it.
 */
export class RunStream implements AsyncIterable<RunEvent> {
  readonly #transport: Transport;
  readonly #request: () => Promise<WireRequest>;
  readonly #functions: CallerFunctions;
  #runId: string | undefined;
  #result: RunResult | undefined;
  /** Called with the result, before the loop over the events ends. */
  onResult: ((result: RunResult) => void) | undefined;

  constructor(
    transport: Transport,
    request: () => Promise<WireRequest>,
    functions: CallerFunctions = {},
  ) {
    this.#transport = transport;
    this.#request = request;
    this.#functions = functions;
  }

  /** The result, once the run has ended. */
  get result(): RunResult {
    if (this.#result === undefined) {
      throw new Error("the run has not ended: iterate over its events first");
    }
    return this.#result;
  }

  /**
   * Reads to the end of the run, and returns its result. Nobody sees the requests meanwhile, so calls that
   * no `approve` decides about are not approved.
   */
  async wait(): Promise<RunResult> {
    for await (const event of this) {
      if (event.type === "request" && event.kind === "approval") {
        await this.#send(unapproved(event));
      }
    }
    return this.result;
  }

  /**
   * Answers requests of the program while it goes on: an output or an `Error` for the id of each. An answer
   * that is repeated changes nothing. The kind of the error is `run_not_found` if the run
   * has ended.
   */
  async answer(answers: Answers): Promise<JsonObject> {
    return this.#post(answersOf(answers));
  }

  async #post(answers: SentAnswers): Promise<JsonObject> {
    if (this.#runId === undefined) throw new Error("the program has asked for nothing");
    return this.#transport.object({
      method: "POST",
      path: `${pathOf(this.#runId)}/answers`,
      isRepeatable: true,
      body: printJson({ answers }),
      headers: { "content-type": "application/json" },
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#result !== undefined) return;
    const response = await this.#transport.send(await this.#request());
    if (!(response.headers.get("content-type") ?? "").includes(EVENTS)) {
      // A repeated call gets the first answer, without events.
      this.#end(resultIn(await response.text()));
      return;
    }
    if (response.body === null) throw new BadAnswer("the answer has no body");
    const reader = response.body.getReader();
    const events = new EventReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const asked: RequestEvent[] = [];
        for (const event of events.feed(value)) {
          const found = this.#read(event);
          if (found?.type === "request" && knows(this.#functions, found)) asked.push(found);
          else if (found !== undefined) yield found;
        }
        await this.#serve(asked);
      }
    } finally {
      await reader.cancel();
    }
    if (this.#result === undefined) throw new BadAnswer("the events ended before the result");
  }

  /** Answers requests for which there are functions. */
  async #serve(asked: RequestEvent[]): Promise<void> {
    const answers = await served(this.#functions, asked);
    if (answers !== undefined) await this.#send(answers);
  }

  async #send(answers: Answers): Promise<void> {
    try {
      await taken(answersOf(answers), (given) => this.#post(given));
    } catch (error) {
      // The program may have ended without waiting for them.
      if (!isRefusal(error, "run_not_found")) throw error;
    }
  }

  #read({ name, data }: ServerEvent): RunEvent | undefined {
    if (name === "response") {
      this.#end(resultIn(data));
      return undefined;
    }
    if (name === "request") {
      const request = objectIn(data) as unknown as RequestEvent;
      this.#runId = request.run_id;
      return { type: "request", ...request };
    }
    if (name !== "output" && name !== "progress" && name !== "left_out") return undefined;
    return { type: name, ...objectIn(data) } as unknown as RunEvent;
  }

  #end(result: JsonObject): void {
    this.#result = result as unknown as RunResult;
    this.onResult?.(this.#result);
  }
}

/** A run in the background. It continues even if its client disconnects. */
export class Run {
  readonly runId: string;

  constructor(
    private readonly runs: Runs,
    readonly started: DetachedRun,
  ) {
    this.runId = started.run_id;
  }

  /** The record of the run, which also has its progress. */
  record(): Promise<RunRecord> {
    return this.runs.get(this.runId);
  }

  /** Waits for the end of the run, and returns its result. */
  async wait(timeoutMs = Number.POSITIVE_INFINITY): Promise<RunResult> {
    const end = Date.now() + timeoutMs;
    for (;;) {
      const asked = Date.now();
      const waitMs = Math.max(0, Math.min(LONGEST_WAIT_MS, end - asked));
      const record = await this.runs.get(this.runId, { waitMs });
      if (record.status === "ended") {
        const result = record["result"];
        if (result === null || result === undefined) throw new RunWithoutResult(record);
        return result as unknown as RunResult;
      }
      const now = Date.now();
      if (now >= end) throw new RunNotEnded(record);
      if (now - asked < PAUSE_MS / 2) {
        await new Promise((resume) => setTimeout(resume, Math.min(PAUSE_MS, end - now)));
      }
    }
  }

  /** Stops the run. */
  cancel(): Promise<JsonObject> {
    return this.runs.cancel(this.runId);
  }

  /** Everything that the run wrote, once it has ended. */
  log(): Promise<string> {
    return this.runs.log(this.runId);
  }
}

/** Which runs to list. */
export interface RunListOptions {
  limit?: number;
  cursor?: string;
  outcome?: string;
  skill?: string;
  /** Milliseconds since 1970. */
  since?: number;
}

/** The records of runs: `client.runs`. */
export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The run with this id, which was started earlier in the background. */
  of(runId: string): Run {
    return new Run(this, { run_id: runId, status: "running" });
  }

  /** The record of a run. Waits up to `waitMs` for its end. */
  async get(runId: string, options: { waitMs?: number } = {}): Promise<RunRecord> {
    const waitMs = Math.round(options.waitMs ?? 0) || undefined;
    const record = await this.#get(`${pathOf(runId)}${query({ wait_ms: waitMs })}`);
    return record as RunRecord;
  }

  /** A page of the runs that have ended, newest first. */
  async list(options: RunListOptions = {}): Promise<{ runs: JsonObject[]; next_cursor: string | null }> {
    const page = await this.#get(`/v1/runs${query({ ...options })}`);
    return page as unknown as { runs: JsonObject[]; next_cursor: string | null };
  }

  /** The runs in progress, newest first. */
  async active(): Promise<RunRecord[]> {
    return (await this.#get("/v1/runs/active"))["runs"] as unknown as RunRecord[];
  }

  /** Stops a run. The answer has its `status` and, if it has ended, its `outcome`. */
  async cancel(runId: string): Promise<JsonObject> {
    const path = `${pathOf(runId)}/cancel`;
    return this.#transport.object({ method: "POST", path, isRepeatable: true });
  }

  /** Everything that a run wrote. */
  async log(runId: string): Promise<string> {
    const path = `${pathOf(runId)}/log`;
    return (await this.#transport.send({ method: "GET", path, isRepeatable: true })).text();
  }

  /** The document of a reproducible run. */
  async document(runId: string): Promise<JsonObject> {
    return this.#get(`${pathOf(runId)}/record`);
  }

  #get(path: string): Promise<JsonObject> {
    return this.#transport.object({ method: "GET", path, isRepeatable: true });
  }
}

function pathOf(runId: string): string {
  // `/v1/runs/active` is the list of runs in progress.
  if (runId === "active") throw new TypeError('"active" is not an id');
  return `/v1/runs/${segment(runId)}`;
}
