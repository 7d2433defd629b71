/** Requests of cells, and the answers of functions. */

import type { CallerRequest, JsonObject, RunCodeParams } from "./schema.js";
import { type CallError, ConnectionFailed } from "./errors.js";
import { output } from "./outputs.js";

/** The characters of an error that the server accepts. */
const LONGEST_ERROR = 16_384;

/** The characters of an answer for which a server may refuse a body before it has read it, and leave. */
const LARGE = 2 ** 20;

/** The kinds of refusals for which an output can be the reason. */
const OF_OUTPUTS: readonly string[] = ["invalid_params", "invalid_request", "parse_error", "too_large"];
/** How a refusal names one of the answers. */
const IN_ANSWERS = /\banswers\[(\d+)\]/;
/** What it says of a value that is nested too deeply. */
const DEEP = "nested more than";
/** What a program does not know of a request. */
const PLACE = /\b(params\.)?answers\[\d+\]\.|^byte \d+: /g;

/** Why a call is not approved that nobody was asked about. */
const NO_APPROVE = "the caller of the program gave no `approve`";

/** A function that code can call. What it throws is raised in the code. */
export type ToolFunction = (args: JsonObject) => unknown;

/** A function, and its declaration for the server. */
export interface CallerTool {
  run: ToolFunction;
  description?: string | undefined;
  /** JSON Schema of its arguments, which the server checks. */
  input_schema?: JsonObject | undefined;
  /** JSON Schema of what it returns, which the server checks. */
  output_schema?: JsonObject | undefined;
}

/**
 * A decision about a call: `true`, `false`, an object of other arguments with which it is made, or a text,
 * the reason why it is not.
 */
export type Decision = boolean | string | JsonObject;

/** Decides about the call of a tool of the operator's servers. What it throws is the reason of a no. */
export type Approve = (name: string, args: JsonObject) => Decision | Promise<Decision>;

/** Functions that answer what a cell asks for. */
export interface CallerFunctions {
  /** Functions by the names that code calls them by: `await tools.NAME(...)`. Names may have dots. */
  tools?: Readonly<Record<string, ToolFunction | CallerTool>> | undefined;
  /** Returns the line that code asks for with this prompt. */
  onInput?: ((prompt: string) => string | Promise<string>) | undefined;
  /**
   * Decides about calls that need an approval. Without it, a run with `tools` goes on without such a call,
   * except for a stream; any other waits for its answer.
   */
  approve?: Approve | undefined;
}

/** Thrown instead of giving an output. Its message is the error that the program gets. */
class Refusal extends Error {}

/** Outputs by the ids of requests. An `Error` is the answer that there is none. */
export type Answers = Readonly<Record<string, unknown>>;

/** Answers as they are sent. */
export type SentAnswers = NonNullable<RunCodeParams["answers"]>;

/** What a call says of the tools. */
export function declared({ tools = {} }: CallerFunctions): RunCodeParams["tools"] {
  const found = Object.entries(tools).map(([name, tool]) => {
    return typeof tool === "function" ? { name } : { name, ...withoutRun(tool) };
  });
  return found.length > 0 ? found : undefined;
}

/** The functions, with one that refuses approvals if there is none: by default for those that have tools. */
export function orRefusing(
  functions: CallerFunctions,
  refuses = declared(functions) !== undefined,
): CallerFunctions {
  const isNeeded = refuses && functions.approve === undefined;
  return isNeeded ? { ...functions, approve: () => NO_APPROVE } : functions;
}

/** The answers to requests for approvals that nobody sees: they are refused. */
export function unapproved(request: CallerRequest): Answers {
  return { [request.id]: new Refusal(NO_APPROVE) };
}

/**
 * The answers of the functions, which run at the same time. Undefined without requests, or if there is
 * no function for one of them: a cell goes on with all of its answers.
 */
export function served(
  functions: CallerFunctions,
  requests: readonly CallerRequest[],
): Promise<Answers> | undefined {
  const calls: Array<() => Promise<[string, unknown]>> = [];
  for (const request of requests) {
    const call = callOf(functions, request);
    if (call === undefined) return undefined;
    calls.push(async () => [request.id, await outcomeOf(call)]);
  }
  if (calls.length === 0) return undefined;
  return Promise.all(calls.map((call) => call())).then((found) => Object.fromEntries(found));
}

/** True if there is a function for this request. */
export function knows(functions: CallerFunctions, request: CallerRequest): boolean {
  return callOf(functions, request) !== undefined;
}

/** The answers as they are sent. */
export function answersOf(answers: Answers): SentAnswers {
  return Object.entries(answers).map(([id, outcome]) => {
    if (outcome instanceof Error) return { id, error: said(outcome) };
    try {
      return { id, output: output(outcome) as never };
    } catch (error) {
      // The code shall hear of it: it has called the tool.
      return { id, error: said(error) };
    }
  });
}

/**
 * The answers to send instead of those that a server has refused: the program hears of the refusal, too.
 * Undefined if none of their outputs can be the reason.
 */
export function withoutRefused(
  answers: SentAnswers,
  error: CallError | ConnectionFailed,
): SentAnswers | undefined {
  const isBroken = error instanceof ConnectionFailed;
  const outputs = answers.filter((answer) => {
    return "output" in answer && (!isBroken || sizeOf(answer) >= LARGE);
  });
  const kind = isBroken ? "too_large" : error.kind;
  const message = isBroken
    ? "the connection broke while it was sent, so it may be too large"
    : error.message;
  if (!OF_OUTPUTS.includes(kind) || outputs.length === 0) return undefined;
  const named = answers[Number(IN_ANSWERS.exec(message)?.[1] ?? Number.NaN)];
  let refused = outputs;
  if (named !== undefined && outputs.includes(named)) refused = [named];
  else if (kind === "too_large") refused = [most(outputs, sizeOf)];
  else if (message.includes(DEEP)) refused = [most(outputs, depthOf)];
  const reason = `the answer was refused: ${message.replaceAll(PLACE, "")}`;
  return answers.map((answer) => {
    return refused.includes(answer) ? { id: answer.id, error: cut(reason) } : answer;
  });
}

function most<T>(items: readonly T[], measure: (item: T) => number): T {
  return items.reduce((one, other) => (measure(other) > measure(one) ? other : one));
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value).length;
}

/** The levels of arrays and objects. */
function depthOf(value: unknown): number {
  let levels = 0;
  for (let within: unknown[] = [value]; within.length > 0; levels += 1) {
    within = within.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return levels;
}

function callOf(
  { tools = {}, onInput, approve }: CallerFunctions,
  { kind, name = "", arguments: args = {}, prompt = "" }: CallerRequest,
): (() => unknown) | undefined {
  if (kind === "approval") return approve && (async () => outputOf(await approve(name, args)));
  if (kind === "input") return onInput && (() => onInput(prompt));
  if (!Object.hasOwn(tools, name)) return undefined;
  const tool = tools[name];
  return tool && (() => (typeof tool === "function" ? tool(args) : tool.run(args)));
}

/** The output of an answer to a request for an approval. Nothing but a clear yes is one. */
function outputOf(decision: unknown): unknown {
  if (typeof decision === "boolean") return decision;
  if (typeof decision === "string") throw new Refusal(decision);
  if (typeof decision === "object" && decision !== null && !Array.isArray(decision)) {
    if (decision instanceof Error) throw decision;
    return { arguments: decision };
  }
  throw new TypeError("`approve` returns true, false, an object of arguments or a text");
}

async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error instanceof Error ? error : new Error(textOf(error));
  }
}

/** The text of what was thrown. It can be anything, also an object that has none. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "an error without a text";
  }
}

function said(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(textOf(error));
  return cut(error instanceof Refusal || name === "" ? message : message === "" ? name : `${name}: ${message}`);
}

/** The text of an error, cut to the length that the server takes. Lone surrogates, which JSON cannot carry, are replaced. */
function cut(text: string): string {
  return text.slice(0, LONGEST_ERROR).replaceAll(/\p{Surrogate}/gu, "\ufffd");
}

function withoutRun({ description, input_schema, output_schema }: CallerTool) {
  return { description, input_schema, output_schema };
}
