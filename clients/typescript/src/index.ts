/** A client of Wardian, which runs skills and model-written Python in sandboxes. */

export * from "./blobs.js";
export * from "./client.js";
export * from "./errors.js";
export { KeptFile, RunFiles } from "./files.js";
export type { Argument, Arguments, BlobAtPath } from "./inputs.js";
export type {
  Answers,
  Approve,
  CallerFunctions,
  CallerTool,
  Decision,
  ToolFunction,
} from "./requests.js";
export { Run, Runs, RunStream } from "./runs.js";
export type { RunEvent, RunListOptions, RunRecord } from "./runs.js";
export type * from "./schema.js";
export { SessionFiles } from "./session_files.js";
export type {
  FileChange,
  FileChangeParams,
  FileContent,
  FileParams,
  SessionFile,
} from "./session_files.js";
export { Session } from "./sessions.js";
export type {
  Cell,
  CellParams,
  Checkpoint,
  CheckpointReference,
  KeepOption,
  SessionDetail,
  SessionInfo,
  SessionPage,
  SessionParams,
} from "./sessions.js";
export type { RetryPolicy } from "./transport.js";
export type { BlobReference } from "./wire.js";
