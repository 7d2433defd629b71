/** Requests of cells, and the answers of functions. */

import type { CallerRequest, JsonObject, RunCodeParams } from "./schema.js";
import { printJson } from "./wire.js";

/** The characters of an error that the server accepts. */
const LONGEST_ERROR = 16_384;

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

type SentAnswers = NonNullable<RunCodeParams["answers"]>;

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
  return Object.entries(answers).map(([id, output]) => {
    if (output instanceof Error) return { id, error: said(output) };
    try {
      // A value without JSON is null, as in an array.
      printJson(output);
      return { id, output: (output ?? null) as never };
    } catch (error) {
      // The code shall hear of it: it has called the tool.
      return { id, error: said(error) };
    }
  });
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
    return error instanceof Error ? error : new Error(String(error));
  }
}

function said(error: unknown): string {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (error instanceof Refusal) return message.slice(0, LONGEST_ERROR);
  return (message === "" ? name : `${name}: ${message}`).slice(0, LONGEST_ERROR);
}

function withoutRun({ description, input_schema, output_schema }: CallerTool) {
  return { description, input_schema, output_schema };
}
