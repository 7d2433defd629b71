/** Runs: their output while they go on, those in the background, and the records of all. */

import { BadAnswer, RunNotEnded, RunWithoutResult } from "./errors.js";
import { EventReader, type ServerEvent } from "./events.js";
import type {
  DetachedRun,
  JsonObject,
  LeftOutEvent,
  OutputEvent,
  ProgressEvent,
  RunResult,
} from "./schema.js";
import { EVENTS, objectIn, resultIn, type Transport, type WireRequest } from "./transport.js";
import { query, segment } from "./wire.js";

/** What comes of a run while it goes on. */
export type RunEvent =
  | ({ type: "output" } & OutputEvent)
  | ({ type: "progress" } & ProgressEvent)
  | ({ type: "left_out" } & LeftOutEvent);

/** How far a run is, and its result if it ran in the background. The record has more members. */
export type RunRecord = JsonObject & {
  run_id: string;
  status: DetachedRun["status"];
  kind: "run_code" | "execute_skill";
};

const LONGEST_WAIT_MS = 20_000;

/** The pause before the next request if a server with many of them has not let one wait. */
const PAUSE_MS = 1_000;

/**
 * A run whose output comes while it goes on. Iterate over its events; `result` is there in the end.
 * Leaving the loop early stops the run.
 */
export class RunStream implements AsyncIterable<RunEvent> {
  readonly #transport: Transport;
  readonly #request: () => Promise<WireRequest>;
  #result: RunResult | undefined;

  constructor(transport: Transport, request: () => Promise<WireRequest>) {
    this.#transport = transport;
    this.#request = request;
  }

  /** The result, once the run has ended. */
  get result(): RunResult {
    if (this.#result === undefined) {
      throw new Error("the run has not ended: iterate over its events first");
    }
    return this.#result;
  }

  /** Reads to the end of the run, and returns its result. */
  async wait(): Promise<RunResult> {
    for await (const _ of this);
    return this.result;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    if (this.#result !== undefined) return;
    const response = await this.#transport.send(await this.#request());
    if (!(response.headers.get("content-type") ?? "").includes(EVENTS)) {
      // A repeated call is answered with the first answer, and streams nothing.
      this.#result = resultIn(await response.text()) as unknown as RunResult;
      return;
    }
    if (response.body === null) throw new BadAnswer("the answer has no body");
    const reader = response.body.getReader();
    const events = new EventReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        for (const event of events.feed(value)) {
          const found = this.#read(event);
          if (found !== undefined) yield found;
        }
      }
    } finally {
      await reader.cancel();
    }
    if (this.#result === undefined) throw new BadAnswer("the events ended before the result");
  }

  #read({ name, data }: ServerEvent): RunEvent | undefined {
    if (name === "response") {
      this.#result = resultIn(data) as unknown as RunResult;
      return undefined;
    }
    if (name !== "output" && name !== "progress" && name !== "left_out") return undefined;
    return { type: name, ...objectIn(data) } as unknown as RunEvent;
  }
}

/** A run in the background. It goes on whether or not its client does. */
export class Run {
  readonly runId: string;

  constructor(
    private readonly runs: Runs,
    readonly started: DetachedRun,
  ) {
    this.runId = started.run_id;
  }

  /** How far the run is. */
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

  /** All that the run wrote, once it has ended. */
  log(): Promise<string> {
    return this.runs.log(this.runId);
  }
}

/** The choice of a list of runs. */
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

  /** A run in the background that was begun before, by its id. */
  of(runId: string): Run {
    return new Run(this, { run_id: runId, status: "running" });
  }

  /** What is known of a run. Waits up to `waitMs` for its end. */
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

  /** The runs that go on, newest first. */
  async active(): Promise<RunRecord[]> {
    return (await this.#get("/v1/runs/active"))["runs"] as unknown as RunRecord[];
  }

  /** Stops a run. The answer has its `status` and, if it has ended, its `outcome`. */
  async cancel(runId: string): Promise<JsonObject> {
    const path = `${pathOf(runId)}/cancel`;
    return this.#transport.object({ method: "POST", path, isRepeatable: true });
  }

  /** All that a run wrote. */
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
  // This is the place of the list of runs that go on.
  if (runId === "active") throw new TypeError('"active" is not an id');
  return `/v1/runs/${segment(runId)}`;
}
