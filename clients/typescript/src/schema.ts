// Made from clients/openrpc.json by `npm run types`: change the server, not this file.

/** A value of JSON. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [name: string]: Json };

/** Name of the file, if the blob has one: one component of a path, 1 to 255 bytes. */
export type BlobName = string;

/** Names a blob: `blob:` and 52 letters and digits. */
export type BlobId = string;

/** Names a run. Ids sort by the time of the call. */
export type RunId = string;

/** The encoding of bytes in a string. */
export type Encoding = "utf-8" | "base64";

/** One skill of a list. */
export type ListedSkill = {
  name: string;
  /** The latest version. */
  version: string;
  /** One line; with detail `summary`, like all that follow. */
  description?: string | undefined;
  namespace?: string | undefined;
  /** Whether the skill has code or is only read. */
  kind?: "action" | "instruction" | undefined;
  tags?: Array<string> | undefined;
};

export type ListSkillsResult = {
  skills: Array<ListedSkill>;
  /** The cursor for the next page; null on the last one. */
  next_cursor: string | null;
};

export type DescribedSkill = {
  /** skill.toml as JSON. */
  manifest: JsonObject;
  /** The frontmatter of SKILL.md; with detail `summary` and `full`. */
  skill_md_frontmatter?: JsonObject | undefined;
  /** SKILL.md; with detail `full`. */
  skill_md_content?: string | undefined;
  /** JSON Schema of `args`; with detail `full`, for skills with code. */
  input_schema?: JsonObject | undefined;
  /** What `script` of execute_skill can name; with detail `full`. */
  scripts?: Array<DescribedScript> | undefined;
  /** Number of all scripts, if not all are listed. */
  scripts_total?: number | undefined;
  /** The trusted key that has signed the skill; with detail `full`. */
  signer?: string | undefined;
};

/** A script of a skill. */
export type DescribedScript = {
  /** Path below the skill's folder. */
  path: string;
  /** First line of what the script says of itself. */
  help?: string | undefined;
};

export type DescribeSkillResult = {
  skill: DescribedSkill;
};

export type ReadSkillFileResult = {
  /** The file, or its base64. */
  content: string;
  encoding?: Encoding | undefined;
};

/** A file that a run left in its workspace. */
export type RunFile = {
  /** Path below /workspace. */
  path: string;
  size_bytes: number;
  blob_id?: BlobId | undefined;
  /** MIME type of the blob. */
  kind?: string | undefined;
  /** The reason why the file was not kept, and what keeps it; absent if the call did not ask for it. */
  not_kept?: string | undefined;
};

/** Parts of an output that JSON cannot represent, and what they were converted to. */
export type ConvertedValue = {
  /** Place of the first of them in `output`, as a JSONPath such as $.rows[0].when. */
  path: string;
  /** Their type in Python, such as datetime.date. */
  from: string;
  /** What they are now, such as ISO 8601 text. */
  to: string;
  /** Their number, if there are several at the same place in the items of lists. */
  count?: number | undefined;
};

/** The reason why a run failed. */
export type RunError = {
  /** Class of a Python exception, or a type of the host such as Timeout. */
  type: string;
  message: string;
  /** Frames of the program's own code. */
  traceback?: string | undefined;
};

/** Stands for an output that is too large for a result. */
export type TruncatedOutput = {
  truncated: true;
  blob_id: BlobId;
  size_bytes: number;
  preview: string;
};

/** The result of a run that has ended. A program that failed is a result, too. */
export type RunResult = {
  /** waiting: the program goes on with answers to its requests. */
  status: "completed" | "failed" | "waiting";
  run_id: RunId;
  /** One line for people and models. */
  summary: string;
  /** The returned value; a TruncatedOutput if output_truncated is true. */
  output: JsonObject | null;
  /** The parts of the output that JSON cannot represent, and what they were converted to. */
  converted?: Array<ConvertedValue> | undefined;
  /** Number of all converted parts, if not all are listed. */
  converted_total?: number | undefined;
  /** The blobs that the run stored. */
  output_blobs: Array<BlobId>;
  files?: Array<RunFile> | undefined;
  /** Number of all files, if not all are listed. */
  files_total?: number | undefined;
  /** Exit code of a script; absent if it was stopped. */
  exit_code?: number | undefined;
  /** Standard output of a script; a long one is cut in its middle. */
  stdout?: string | undefined;
  /** Error stream of a script; a long one is cut in its middle. */
  stderr?: string | undefined;
  /** Beginning and end of what the program printed and logged. */
  logs_preview: string;
  error?: RunError | undefined;
  logs_truncated: boolean;
  output_truncated: boolean;
  duration_ms: number;
  memory_peak_bytes: number;
  /** Executed instructions, if they were counted. */
  fuel?: number | undefined;
  /** True if the result was kept from an earlier run with the same inputs. */
  cached?: boolean | undefined;
  /** What a cell displayed, in order: the forms of each object by MIME type. */
  display?: Array<Record<string, DisplayPart>> | undefined;
  /** What the program waits for, if its status is waiting. */
  requests?: Array<CallerRequest> | undefined;
  session?: SessionState | undefined;
};

/** A session after one of its cells. */
export type SessionState = {
  /** Names the session. */
  id: string;
  /** Number of the cell in the session, from 1 on. */
  cell: number;
  /** The state that the session is at; null if it has none. */
  checkpoint: string | null;
  /** kept: the next cell finds the variables and files of this one. rolled_back: the session is where it was before. waiting: the cell goes on with answers. closed: the session has ended. */
  state: "kept" | "rolled_back" | "waiting" | "closed";
  /** Why the effects of the cell were not kept. */
  reason?: string | undefined;
  /** SHA-256 of the whole memory and the workspace after the cell, in a reproducible session. */
  state_digest?: string | undefined;
};

/** Something that a cell asks of its caller: the call of a tool, a line of text, or the approval of a call that the server makes then. */
export type CallerRequest = {
  /** Names the request in an answer. */
  id: string;
  /** approval: the output of the answer is true, false, or an object with other `arguments` of the tool, which means yes; an error means no. */
  kind: "tool" | "input" | "approval";
  /** Name of the tool. */
  name?: string | undefined;
  /** Arguments of the tool. */
  arguments?: JsonObject | undefined;
  /** What the line of text is asked for with. */
  prompt?: string | undefined;
  /** True if the line is not to be shown while it is typed. */
  hidden?: boolean | undefined;
};

/** One form of an object that a cell displayed: a text, or a blob for pictures and long texts. */
export type DisplayPart = {
  text?: string | undefined;
  blob?: BlobId | undefined;
};

/** The result of a call with `detach`: the run goes on. */
export type DetachedRun = {
  status: "queued" | "running" | "ended";
  run_id: RunId;
};

export type CreateBlobResult = {
  blob_id: BlobId;
  size_bytes: number;
  name?: BlobName | undefined;
};

export type ReadBlobResult = {
  /** The sampled content, or its base64. */
  content: string;
  /** Whether the blob has more bytes than these. */
  truncated: boolean;
  /** MIME type. */
  kind: string;
  /** Length of the whole blob. */
  size_bytes: number;
  encoding: Encoding;
  name?: BlobName | undefined;
};

export type GuideResult = {
  /** The guide as Markdown. */
  content: string;
};

/** The `data` of an error. */
export type ErrorData = {
  /** One of `x-error-kinds`: branch on it. */
  kind: string;
  /** The wrong parameter. */
  parameter?: string | undefined;
  /** Names the request in the server's log. */
  request_id?: string | undefined;
  /** Only if nothing was executed and a repetition can succeed after that time. */
  retry_after_ms?: number | undefined;
};

/** Data of the event `output`: a piece of what the program prints. */
export type OutputEvent = {
  stream: "stdout" | "stderr" | "log";
  text: string;
};

/** Data of the event `progress`. */
export type ProgressEvent = {
  done: number;
  total?: number | undefined;
  message?: string | undefined;
};

/** Data of the event `request`: what the program asks its caller for, in a call with `tools`. */
export type RequestEvent = {
  /** The run: `POST /v1/runs/{run_id}/answers` answers. */
  run_id: string;
  /** Names it in the answer. */
  id: string;
  /** approval: the output of the answer is true, false, or an object with other `arguments` of the tool, which means yes; an error means no. */
  kind: "tool" | "input" | "approval";
  /** The tool. */
  name?: string | undefined;
  arguments?: JsonObject | undefined;
  /** For a line of text. */
  prompt?: string | undefined;
  /** True for a line that is not to be shown while it is typed. */
  hidden?: boolean | undefined;
};

/** Data of the event `left_out`: output that the client was too slow for. */
export type LeftOutEvent = {
  bytes: number;
};

/** Enumerate available skills, optionally filtering by namespace. Results are deterministically sorted. */
export type ListSkillsParams = {
  /** Optional namespace to filter skills (e.g., 'salesforce'). */
  namespace?: string | undefined;
  /** Level of detail to return. */
  detail?: "names" | "summary" | undefined;
  /** Maximum number of results. */
  limit?: number | undefined;
  /** Pagination cursor from previous response. */
  cursor?: string | undefined;
};

/** Retrieve a skill's manifest and documentation frontmatter. */
export type DescribeSkillParams = {
  /** Skill name (e.g., 'salesforce.leads.sync'). */
  name: string;
  /** Skill version (omit for latest). */
  version?: string | undefined;
  /** Level of detail to return. */
  detail?: "manifest" | "summary" | "full" | undefined;
};

/** Read any file in a skill's directory (e.g., SKILL.md, extra docs, schemas). */
export type ReadSkillFileParams = {
  /** Skill name. */
  name: string;
  /** Skill version (omit for latest). */
  version?: string | undefined;
  /** Path to file within skill directory (e.g., 'SKILL.md'). */
  path: string;
};

/** Execute a skill's entrypoint in an ephemeral sandbox. */
export type ExecuteSkillParams = {
  /** Skill name. */
  name: string;
  /** Skill version (omit for latest). */
  version?: string | undefined;
  /** JSON-serializable arguments to pass to the skill. */
  args?: JsonObject | undefined;
  /** Run this Python script of the skill instead of its entrypoint, such as 'scripts/fill_form.py'. */
  script?: string | undefined;
  /** Command line of the script, such as ['in.pdf', 'out.pdf'] or ['--help']. */
  argv?: Array<string> | undefined;
  /** Text on the standard input of the script. */
  stdin?: string | undefined;
  /** Environment variables of the script, of names that the skill declares. */
  env?: JsonObject | undefined;
  /** Blob IDs to mount in the sandbox. */
  input_blobs?: Array<string | {
    /** Blob identifier. */
    blob: string;
    /** Relative path of a file with this content, such as 'data/in.csv', which the program can change. */
    path: string;
  }> | undefined;
  /** Files in /workspace to store as blobs after the run: true for all, false for none, or glob patterns (omit for all within the size limits). */
  keep_files?: boolean | Array<string> | undefined;
  /** Fail if the program returns a value that JSON cannot represent (a date, table, figure, ...), instead of converting it. */
  strict_output?: boolean | undefined;
  /** Make the result repeatable: true, or an object with the seed and the start time. */
  reproducible?: boolean | {
    /** Seed of all randomness. */
    seed?: number | undefined;
    /** Time of day when the run starts, in seconds since 1970. */
    epoch?: number | undefined;
    /** Return the cached result of an earlier run with the same inputs, if one exists. */
    cache?: boolean | undefined;
  } | undefined;
  /** Execution timeout in milliseconds. */
  timeout_ms?: number | undefined;
  /** Execution limits. */
  limits?: {
    timeout_ms?: number | undefined;
    /** Maximum number of WebAssembly instructions. */
    fuel?: number | undefined;
    /** Maximum memory, including the interpreter's. */
    memory_bytes?: number | undefined;
    /** Maximum size of all files in /workspace. */
    workspace_bytes?: number | undefined;
    /** Maximum number of blob and log calls. */
    host_calls?: number | undefined;
  } | undefined;
  /** Keep variables, files and imports between calls: 'new' begins a session, its id continues it. */
  session?: string | {
    /** The session (omit or 'new' for a new one). */
    id?: string | undefined;
    /** Refuse the call unless the session is at this checkpoint. */
    if_checkpoint?: string | undefined;
    /** false closes the session after this call (omit for true). */
    keep?: boolean | undefined;
    /** Time to wait while another call runs in the session (omit to be refused at once). */
    wait_ms?: number | undefined;
  } | undefined;
  /** Title of the run in lists and in its record. */
  label?: string | undefined;
  /** Tools of yours that code can call: `await tools.NAME(...)` returns status 'waiting' with requests. */
  tools?: Array<{
    /** Name of the tool. */
    name: string;
    /** What the tool does. */
    description?: string | undefined;
    /** JSON Schema of its arguments. */
    input_schema?: JsonObject | undefined;
    /** JSON Schema of its output. */
    output_schema?: JsonObject | undefined;
  }> | undefined;
  /** Return the run_id immediately and continue in the background; GET /v1/runs/{run_id} returns the status and result. */
  detach?: boolean | undefined;
  /** Name that you choose for this call: a repeated call with the same name executes nothing and returns the first answer. */
  idempotency_key?: string | undefined;
};

/** Execute LLM-written code in a sandbox with specified skills and blobs mounted. */
export type RunCodeParams = {
  /** Programming language (MVP: python only). */
  language: "python";
  /** Source code to execute. */
  code: string;
  /** Function name to call. */
  entrypoint?: string | undefined;
  /** Arguments to pass to entrypoint function. */
  args?: JsonObject | undefined;
  /** Skill names to mount in sandbox. */
  mount_skills?: Array<string> | undefined;
  /** Blob IDs to mount in sandbox. */
  input_blobs?: Array<string | {
    /** Blob identifier. */
    blob: string;
    /** Relative path of a file with this content, such as 'data/in.csv', which the program can change. */
    path: string;
  }> | undefined;
  /** Files in /workspace to store as blobs after the run: true for all, false for none, or glob patterns (omit for all within the size limits). */
  keep_files?: boolean | Array<string> | undefined;
  /** Fail if the program returns a value that JSON cannot represent (a date, table, figure, ...), instead of converting it. */
  strict_output?: boolean | undefined;
  /** Make the result repeatable: true, or an object with the seed and the start time. */
  reproducible?: boolean | {
    /** Seed of all randomness. */
    seed?: number | undefined;
    /** Time of day when the run starts, in seconds since 1970. */
    epoch?: number | undefined;
    /** Return the cached result of an earlier run with the same inputs, if one exists. */
    cache?: boolean | undefined;
  } | undefined;
  /** Execution limits. */
  limits?: {
    timeout_ms?: number | undefined;
    /** Maximum number of WebAssembly instructions. */
    fuel?: number | undefined;
    /** Maximum memory, including the interpreter's. */
    memory_bytes?: number | undefined;
    /** Maximum size of all files in /workspace. */
    workspace_bytes?: number | undefined;
    /** Maximum number of blob and log calls. */
    host_calls?: number | undefined;
  } | undefined;
  /** Same as limits.timeout_ms. */
  timeout_ms?: number | undefined;
  /** Keep variables, files and imports between calls: 'new' begins a session, its id continues it. */
  session?: string | {
    /** The session (omit or 'new' for a new one). */
    id?: string | undefined;
    /** Refuse the call unless the session is at this checkpoint. */
    if_checkpoint?: string | undefined;
    /** false closes the session after this call (omit for true). */
    keep?: boolean | undefined;
    /** Time to wait while another call runs in the session (omit to be refused at once). */
    wait_ms?: number | undefined;
  } | undefined;
  /** Tools of yours that code can call: `await tools.NAME(...)` returns status 'waiting' with requests. */
  tools?: Array<{
    /** Name of the tool. */
    name: string;
    /** What the tool does. */
    description?: string | undefined;
    /** JSON Schema of its arguments. */
    input_schema?: JsonObject | undefined;
    /** JSON Schema of its output. */
    output_schema?: JsonObject | undefined;
  }> | undefined;
  /** Answers to all requests of a session that waits, which goes on then; leave code empty. */
  answers?: Array<{
    /** Id of the request. */
    id: string;
    /** Output of the tool, the line of text, or the decision about an approval. */
    output?: Json | undefined;
    /** Why there is no output. */
    error?: string | undefined;
  }> | undefined;
  /** End the code that waits in the session, without its effects; leave code empty. */
  abandon?: boolean | undefined;
  /** Title of the run in lists and in its record. */
  label?: string | undefined;
  /** Return the run_id immediately and continue in the background; GET /v1/runs/{run_id} returns the status and result. */
  detach?: boolean | undefined;
  /** Name that you choose for this call: a repeated call with the same name executes nothing and returns the first answer. */
  idempotency_key?: string | undefined;
};

/** Store large content as a blob and return its ID. */
export type CreateBlobParams = {
  /** Content to store. */
  content: string;
  /** MIME type (e.g., 'text/plain', 'application/json'). */
  kind: string;
  /** Encoding of content (omit for utf-8 if kind is a text type, base64 if it is a known binary type). */
  encoding?: "utf-8" | "base64" | undefined;
  /** File name, such as 'sales.csv': programs can open the blob by this name, and lists show it. */
  name?: string | undefined;
  /** Name that you choose for this call: a repeated call with the same name executes nothing and returns the first answer. */
  idempotency_key?: string | undefined;
};

/** Retrieve a preview of blob content. Full reads discouraged for large blobs. */
export type ReadBlobParams = {
  /** Blob identifier. */
  blob_id: string;
  /** How to sample the blob. */
  mode?: "sample_head" | "sample_tail" | "full" | undefined;
  /** Maximum bytes to return. */
  max_bytes?: number | undefined;
};

/** Load the Skills Protocol Guide to learn how to use these tools. Call this first if you haven't read the guide yet. */
export type LoadSkillsProtocolGuideParams = Record<string, never>;

/** The methods with their parameters and results. */
export interface Methods {
  list_skills: { params: ListSkillsParams; result: ListSkillsResult };
  describe_skill: { params: DescribeSkillParams; result: DescribeSkillResult };
  read_skill_file: { params: ReadSkillFileParams; result: ReadSkillFileResult };
  execute_skill: { params: ExecuteSkillParams; result: RunResult | DetachedRun };
  run_code: { params: RunCodeParams; result: RunResult | DetachedRun };
  create_blob: { params: CreateBlobParams; result: CreateBlobResult };
  read_blob: { params: ReadBlobParams; result: ReadBlobResult };
  load_skills_protocol_guide: { params: LoadSkillsProtocolGuideParams; result: GuideResult };
}

/** The kinds of errors. */
export type ErrorKind =
  | "parse_error"
  | "invalid_request"
  | "method_not_found"
  | "invalid_params"
  | "skill_not_found"
  | "version_not_found"
  | "file_not_found"
  | "blob_not_found"
  | "run_not_found"
  | "session_not_found"
  | "session_expired"
  | "checkpoint_not_found"
  | "not_executable"
  | "too_large"
  | "unauthorized"
  | "forbidden"
  | "rate_limited"
  | "overloaded"
  | "quota_exceeded"
  | "secret_unavailable"
  | "packages_missing"
  | "session_busy"
  | "session_conflict"
  | "session_damaged"
  | "internal";
