/** The rounds of a run whose caller answers it, and how it ends if the caller leaves. */

import { CallError, ConnectionFailed, isRefusal } from "./errors.js";
import { ofOneRun } from "./parts.js";
import {
  type Answers,
  answersOf,
  type CallerFunctions,
  type SentAnswers,
  served,
  withoutRefused,
} from "./requests.js";
import type { RunResult } from "./schema.js";
import { sleep, type Transport } from "./transport.js";
import { printJson, segment } from "./wire.js";

/** The longest time that a call which ends early takes to end its run. */
const LONGEST_GOODBYE_MS = 5_000;
/** How often the client tells a run to end: the server refuses that while answers are being processed. */
const GOODBYES = 5;
const PAUSE_MS = 200;

/** How a run is answered. */
export interface Answering {
  transport: Transport;
  functions: CallerFunctions;
  /** Sends answers, and returns the next part of the run. */
  send: (answers: SentAnswers, sessionId: string) => Promise<RunResult>;
  /** True for a program, whose session is there for its waits alone. */
  isProgram: boolean;
  signal: AbortSignal | undefined;
}

/**
 * Answers the requests of a run as far as there are functions, and returns its end. A run that its caller
 * leaves early is ended: nobody else knows what it waits for.
 */
export async function answered(begun: RunResult, how: Answering): Promise<RunResult> {
  let result = begun;
  for (;;) {
    const { session } = result;
    const answers = served(how.functions, result.requests ?? []);
    if (answers === undefined || session === undefined) return result;
    try {
      const given = answersOf(await unlessAborted(answers, how.signal));
      const part = await taken(given, (sent) => how.send(sent, session.id));
      result = ofOneRun(result, part, how.isProgram);
    } catch (error) {
      await abandon(how, session.id);
      throw error;
    }
  }
}

/** Sends answers of functions. An output that the server refuses is an error of its tool. */
export async function taken<T>(
  answers: SentAnswers,
  send: (answers: SentAnswers) => Promise<T>,
): Promise<T> {
  let broke: ConnectionFailed | undefined;
  for (let given = answers; ; ) {
    try {
      return await send(given);
    } catch (error) {
      const isOne = error instanceof CallError || (error instanceof ConnectionFailed && !isLate(error));
      const rest = isOne ? withoutRefused(given, error) : undefined;
      // The server took the answers before the connection broke, or it is gone.
      if (rest === undefined) throw broke ?? error;
      if (error instanceof ConnectionFailed) broke = error;
      given = rest;
    }
  }
}

function isLate({ cause }: ConnectionFailed): boolean {
  return cause instanceof Error && cause.name === "TimeoutError";
}

/** Functions cannot be stopped, but nobody waits for them after the signal. */
async function unlessAborted(
  answers: Promise<Answers>,
  signal: AbortSignal | undefined,
): Promise<Answers> {
  if (signal === undefined) return answers;
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([answers, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Ends what waits in a session, as far as that is possible in a short time. */
async function abandon({ transport, isProgram }: Answering, id: string): Promise<void> {
  const signal = AbortSignal.timeout(LONGEST_GOODBYE_MS);
  const params = { language: "python", code: "", session: id, abandon: true };
  const call = {
    method: "POST",
    path: "/rpc",
    isRepeatable: false,
    body: printJson({ jsonrpc: "2.0", id: 1, method: "run_code", params }),
    headers: { "content-type": "application/json", accept: "application/json" },
    signal,
  };
  try {
    for (let told = 0; told < GOODBYES; told += 1) {
      try {
        await (await transport.send(call)).text();
        return;
      } catch (error) {
        if (!(error instanceof CallError)) return;
        if (!isRefusal(error, "session_busy")) break;
        await sleep(PAUSE_MS, signal);
      }
    }
    // It does not wait: it was stopped with the call that answered it.
    const path = `/v1/sessions/${segment(id)}`;
    if (isProgram) await transport.send({ method: "DELETE", path, isRepeatable: true, signal });
  } catch {
    // The reason for leaving is more important. The session expires.
  }
}
