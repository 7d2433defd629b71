/** The client. */

import { answered } from "./answering.js";
import { Blobs } from "./blobs.js";
import { completed } from "./errors.js";
import { RunFiles } from "./files.js";
import { type Arguments, type BlobAtPath, Inputs } from "./inputs.js";
import { type CallerFunctions, declared, orRefusing } from "./requests.js";
import { Run, Runs, RunStream } from "./runs.js";
import type {
  CreateBlobParams,
  CreateBlobResult,
  DescribeSkillParams,
  DescribeSkillResult,
  DetachedRun,
  ExecuteSkillParams,
  GuideResult,
  Json,
  JsonObject,
  ListedSkill,
  ListSkillsParams,
  ListSkillsResult,
  Methods,
  ReadBlobParams,
  ReadBlobResult,
  ReadSkillFileParams,
  ReadSkillFileResult,
  RunCodeParams,
  RunResult,
} from "./schema.js";
import {
  type KeepOption,
  listSessions,
  newSession,
  openSession,
  type Session,
  type SessionClient,
  type SessionPage,
  type SessionParams,
} from "./sessions.js";
import { checkedUrl, keyHeaders } from "./settings.js";
import { skillsByName } from "./skills.js";
import { EVENTS, resultIn, Transport, type RetryPolicy, type WireRequest } from "./transport.js";
import { printJson, query, standsForBlob } from "./wire.js";

/** The settings of a client. */
export interface ClientOptions {
  /** The address of the server. Default `http://127.0.0.1:8080`. */
  url?: string;
  /** The key of the caller. */
  apiKey?: string;
  /** Milliseconds to wait for an answer. Default ten minutes. */
  timeoutMs?: number;
  retry?: RetryPolicy;
  /** A `fetch` to use instead of the global one. */
  fetch?: typeof fetch;
}

/** Options of single calls. */
export interface CallOptions {
  /** Aborts the call, and stops its run. */
  signal?: AbortSignal;
}

/** Parameters of `execute_skill` without those that the client sets. */
export type SkillParams = Omit<ExecuteSkillParams, "args" | "detach" | "input_blobs"> & InputBlobs;

/** Parameters of `run_code` without those that the client sets. */
export type CodeParams = Omit<RunCodeParams, "args" | "detach" | "language" | "input_blobs"> & {
  language?: "python";
} & InputBlobs;

/**
 * The arguments and the blobs of a run. Bytes, a `Blob` or a `File` among the arguments are stored as
 * blobs. Blobs among the arguments of code are mounted even if `input_blobs` does not list them.
 */
export interface InputBlobs {
  args?: Arguments | undefined;
  /** Ids, or results of `blobs.upload` and `createBlob`; with a path, they are files at that path. */
  input_blobs?: Array<string | CreateBlobResult | BlobAtPath> | undefined;
}

/** A skill as a function of its arguments: `await client.skills["hello.world"]({name: "Ada"})`. */
export type Skill = (
  args?: Arguments,
  options?: Omit<SkillParams, "name" | "args"> & CallOptions,
) => Promise<RunResult>;

/** The formats in which `GET /tools` describes the tools. */
export type ToolFormat = "plain" | "openai" | "anthropic";

const DEFAULT_URL = "http://127.0.0.1:8080";
const TEN_MINUTES = 600_000;

/** A client of a Wardian server. */
export class Client {
  readonly url: string;
  readonly blobs: Blobs;
  readonly runs: Runs;
  /**
   * The skills as functions, by name. A function throws `RunFailed` if its run fails. Use
   * `executeSkill` for skills with the names `then`, `inspect` and `constructor`.
   */
  readonly skills: Readonly<Record<string, Skill>>;
  readonly #transport: Transport;
  #calls = 0;

  /** A client of the server at an address, or with these settings. */
  constructor(settings: string | ClientOptions = {}) {
    const options = typeof settings === "string" ? { url: settings } : settings;
    this.url = checkedUrl(options.url ?? DEFAULT_URL);
    const headers = keyHeaders(options.apiKey);
    const timeoutMs = options.timeoutMs ?? TEN_MINUTES;
    const fetched = options.fetch ?? globalThis.fetch.bind(globalThis);
    const retry = options.retry ?? {};
    this.#transport = new Transport(this.url, headers, fetched, retry, timeoutMs);
    this.blobs = new Blobs(this.#transport);
    this.runs = new Runs(this.#transport);
    this.skills = skillsByName((name) => this.#skill(name));
  }

  /** Calls a method by name, and returns its result. `approve` is that of `runCode`. */
  async call<M extends keyof Methods>(
    method: M,
    params: Methods[M]["params"],
    options?: CallOptions & Pick<CallerFunctions, "approve">,
  ): Promise<Methods[M]["result"]>;
  async call(
    method: string,
    params?: object,
    options?: CallOptions & Pick<CallerFunctions, "approve">,
  ): Promise<JsonObject>;
  async call(
    method: string,
    params: object = {},
    options: CallOptions & Pick<CallerFunctions, "approve"> = {},
  ): Promise<unknown> {
    const response = await this.#transport.send(this.#request(method, params, options));
    const result = resultIn(await response.text());
    if (options.approve === undefined || result["status"] !== "waiting") return result;
    return this.#finished(result as unknown as RunResult, params as CodeParams, options);
  }

  /** A page of the skills, sorted by name. */
  listSkills(params: ListSkillsParams = {}, options?: CallOptions): Promise<ListSkillsResult> {
    return this.call("list_skills", params, options);
  }

  /** Iterates over all skills. Pages are fetched as needed. */
  async *iterSkills(params: Omit<ListSkillsParams, "cursor"> = {}): AsyncGenerator<ListedSkill> {
    let cursor: string | null = null;
    do {
      const page: ListSkillsResult = await this.listSkills(
        cursor === null ? params : { ...params, cursor },
      );
      yield* page.skills;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  /** The manifest and the documentation of a skill. */
  describeSkill(params: DescribeSkillParams, options?: CallOptions): Promise<DescribeSkillResult> {
    return this.call("describe_skill", params, options);
  }

  /** A file of a skill. */
  readSkillFile(params: ReadSkillFileParams, options?: CallOptions): Promise<ReadSkillFileResult> {
    return this.call("read_skill_file", params, options);
  }

  /**
   * Executes a skill. If it fails, the result has `status: "failed"`. The functions answer what the skill
   * asks for, as with `runCode`.
   */
  async executeSkill(
    params: SkillParams,
    options: CallOptions & CallerFunctions = {},
  ): Promise<RunResult> {
    return this.#served("execute_skill", params, options);
  }

  /**
   * Runs Python code. If the program fails, the result has `status: "failed"`.
   *
   * The functions answer what the code asks for. If there is none for a request, the result has
   * `status: "waiting"`, `requests` and the session that goes on with answers.
   */
  async runCode(
    params: CodeParams,
    options: CallOptions & CallerFunctions = {},
  ): Promise<RunResult> {
    return this.#served("run_code", python(params), options);
  }

  /** Executes a skill and streams its output while it runs, as `streamCode`. */
  streamSkill(params: SkillParams, options: CallOptions & CallerFunctions = {}): RunStream {
    return this.#stream("execute_skill", params, options);
  }

  /**
   * Runs Python code and streams its output while it runs. The functions are called as soon as the code asks
   * for them, while it goes on.
   */
  streamCode(params: CodeParams, options: CallOptions & CallerFunctions = {}): RunStream {
    return this.#stream("run_code", python(params), options);
  }

  /** Executes a skill in the background. */
  async startSkill(params: SkillParams, options?: CallOptions): Promise<Run> {
    const started = await this.#run("execute_skill", { ...params, detach: true }, options);
    return new Run(this.runs, started as unknown as DetachedRun);
  }

  /** Runs Python code in the background. */
  async startCode(params: CodeParams, options?: CallOptions): Promise<Run> {
    const started = await this.#run("run_code", { ...python(params), detach: true }, options);
    return new Run(this.runs, started as unknown as DetachedRun);
  }

  /**
   * A new session: an interpreter that several calls use one after another. `await using` closes it at
   * the end of the scope unless `keep` is true.
   */
  session(params: SessionParams & KeepOption = {}): Promise<Session> {
    return newSession(this.#sessionClient, params);
  }

  /** An existing session. `await using` closes it only if `keep` is false. */
  openSession(id: string, options: KeepOption = {}): Promise<Session> {
    return openSession(this.#sessionClient, id, options);
  }

  /** A page of the sessions, and what all of them take. */
  sessions(options: { limit?: number; cursor?: string } = {}): Promise<SessionPage> {
    return listSessions(this.#sessionClient, options);
  }

  /** The files that a run left, by name. */
  files(result: Pick<RunResult, "files">): RunFiles {
    return new RunFiles(this.blobs, result);
  }

  /** Stores a blob in one call. For bytes and large content use `blobs.upload`. */
  async createBlob(params: CreateBlobParams, options?: CallOptions): Promise<CreateBlobResult> {
    // The content is text, whatever the kind.
    return standsForBlob(await this.call("create_blob", { encoding: "utf-8", ...params }, options));
  }

  /** A part of a blob, for people and models. `blobs.read` returns all of it. */
  readBlob(params: ReadBlobParams, options?: CallOptions): Promise<ReadBlobResult> {
    return this.call("read_blob", params, options);
  }

  /** The guide for models, as Markdown. */
  loadSkillsProtocolGuide(): Promise<GuideResult> {
    return this.call("load_skills_protocol_guide", {});
  }

  /** The definitions of the eight tools, in the format of a model vendor. */
  async tools(format: ToolFormat = "plain"): Promise<JsonObject[]> {
    const path = `/tools${query({ format })}`;
    const response = await this.#transport.send({ method: "GET", path, isRepeatable: true });
    return (await response.json()) as JsonObject[];
  }

  /** The description of the methods, as an OpenRPC document. */
  openrpc(): Promise<JsonObject> {
    return this.call("rpc.discover");
  }

  /** Name and version of the server, and how it isolates runs. */
  version(): Promise<JsonObject> {
    return this.#transport.object({ method: "GET", path: "/version", isRepeatable: true });
  }

  get #sessionClient(): SessionClient {
    return {
      transport: this.#transport,
      run: (params, signal) => this.runCode(params, asOptions(signal)),
      stream: (params, signal) => this.streamCode(params, asOptions(signal)),
    };
  }

  /** Runs a program whose requests the functions answer, to its end. */
  async #served(
    method: string,
    params: CodeParams | SkillParams,
    options: CallOptions & CallerFunctions,
  ): Promise<RunResult> {
    const result = await this.#ran(method, withTools(params, options), options);
    return this.#finished(result, params, options);
  }

  /** Answers the requests of a program that was begun with `params`, as far as there are functions. */
  async #finished(
    begun: RunResult,
    params: CodeParams | SkillParams,
    options: CallOptions & CallerFunctions,
  ): Promise<RunResult> {
    return answered(begun, {
      transport: this.#transport,
      functions: orRefusing(options),
      send: (answers, id) => this.#ran("run_code", python(nextPart(params, id, answers)), options),
      isProgram: !("session" in params) || params.session === undefined,
      signal: options.signal,
    });
  }

  async #ran(method: string, params: object, { signal }: CallOptions): Promise<RunResult> {
    return (await this.#run(method, params, asOptions(signal))) as unknown as RunResult;
  }

  async #run(method: string, params: object, options?: CallOptions): Promise<JsonObject> {
    return this.call(method, await new Inputs(method, params).stored(this.blobs), options);
  }

  #stream(
    method: string,
    params: CodeParams | SkillParams,
    options: CallOptions & CallerFunctions,
  ): RunStream {
    const inputs = new Inputs(method, withTools(params, options));
    const request = async () => {
      return this.#request(method, await inputs.stored(this.blobs), options, EVENTS);
    };
    return new RunStream(this.#transport, request, options);
  }

  #skill(name: string): Skill {
    return async (args = {}, { signal, ...params } = {}) => {
      return completed(await this.executeSkill({ name, args, ...params }, asOptions(signal)));
    };
  }

  #request(method: string, params: object, options: CallOptions, accept?: string): WireRequest {
    this.#calls += 1;
    const reads = !["execute_skill", "run_code", "create_blob"].includes(method);
    const hasKey = typeof (params as Record<string, Json>)["idempotency_key"] === "string";
    return {
      method: "POST",
      path: "/rpc",
      isRepeatable: reads || hasKey,
      body: printJson({ jsonrpc: "2.0", id: this.#calls, method, params }),
      headers: { "content-type": "application/json", accept: accept ?? "application/json" },
      signal: options.signal,
    };
  }
}

function asOptions(signal: AbortSignal | undefined): CallOptions {
  return signal === undefined ? {} : { signal };
}

/** The parameters with the declarations of the functions. */
function withTools(params: CodeParams | SkillParams, functions: CallerFunctions): object {
  const tools = declared(functions) ?? params.tools;
  return tools === undefined ? params : { ...params, tools };
}

/** The call with which a run goes on that waits. */
function nextPart(
  { keep_files, strict_output, timeout_ms, limits, label, ...others }: CodeParams | SkillParams,
  id: string,
  answers: RunCodeParams["answers"],
): CodeParams {
  const session = "session" in others ? others.session : undefined;
  const keep = typeof session === "object" ? session.keep : undefined;
  const own = { keep_files, strict_output, timeout_ms, limits, label };
  return { code: "", session: { id, keep }, answers, ...own };
}

function python(params: CodeParams): CodeParams {
  return { language: "python", ...params };
}
