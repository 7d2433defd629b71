//! The record of one run.
//!
//! INVARIANT(records-without-secrets): no field can hold the value of a secret: texts of a run are
//! redacted before they get here, and arguments are digests unless the operator wants their values.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use wardian_formats::job::Reproducible;
use wardian_formats::job::limits::RunLimits;
use wardian_vocabulary::ids::{BlobId, Digest, RunId, SkillName, SkillVersion, TenantId};

/// Maximum number of blobs, skills or layers of a record that are named; the rest are counted.
pub const MAX_LISTED: usize = 320;

/// Maximum number of bytes of the result of a run in the background that are kept, as JSON.
pub const MAX_RESULT: usize = 512 << 10;

/// Maximum number of bytes of the document of a run that are kept.
pub const MAX_DOCUMENT_KEPT: usize = 4 << 20;

/// The type of error of a run in the background that the server did not let end.
pub const INTERRUPTED: &str = "Interrupted";

/// The reason why such a run did not complete.
pub const INTERRUPTION: &str = "the server stopped before the run ended";

/// The record of one run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunRecord {
    /// Id of the run.
    pub run_id: RunId,
    /// The tenant that it ran for.
    pub tenant: TenantId,
    /// The prefix of the key of its caller; none without keys.
    pub key: Option<String>,
    /// Id of the request that asked for it.
    pub request_id: String,
    /// The trace that the request belongs to, if the server has traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The title that its caller gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// A line of its code, if it came with the call and records keep programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The method that was called.
    pub kind: RunKind,
    /// True if it ran in the background.
    #[serde(default)]
    pub detached: bool,
    /// When it was asked for, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// From then to the end, in microseconds.
    pub duration_us: u64,
    /// The end.
    pub outcome: RunOutcomeKind,
    /// The reason why it did not complete.
    pub error: Option<RecordedError>,
    /// The skill that was executed.
    pub skill: Option<RecordedSkill>,
    /// The code that came with the call.
    pub code: Option<RecordedContent>,
    /// The function that was called, if the call named one.
    pub entrypoint: Option<String>,
    /// The arguments.
    pub arguments: RecordedArguments,
    /// All skills that were mounted.
    pub mounted_skills: Vec<RecordedSkill>,
    /// The layers of packages that were mounted.
    pub layers: Vec<Digest>,
    /// The blobs that it could read.
    pub input_blobs: Vec<BlobId>,
    /// The version of Wardian.
    pub wardian: String,
    /// The engine.
    pub engine: Digest,
    /// The memory image that it began as; none if it never began.
    pub image: Option<RecordedImage>,
    /// Its limits.
    pub limits: RecordedLimits,
    /// What its time and its randomness followed from; none if they were those of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducible: Option<RecordedReproducible>,
    /// How long its phases took, as far as they are known.
    pub phases_us: RecordedPhases,
    /// Time of a processor in microseconds, if it was measured.
    pub cpu_us: Option<u64>,
    /// Largest size of its memory.
    pub memory_peak_bytes: Option<u64>,
    /// Executed instructions, if they were counted.
    pub fuel: Option<u64>,
    /// Calls to the host.
    pub host_calls: Option<u32>,
    /// The returned value.
    pub output: Option<RecordedContent>,
    /// The blobs that it stored, in order: the first [`MAX_LISTED`].
    pub output_blobs: Vec<BlobId>,
    /// The number of all blobs that it stored.
    pub output_blobs_total: u64,
    /// Its output and log lines; their text is stored apart.
    pub log: RecordedLog,
    /// What it did in the network; none if it did nothing there.
    pub network: Option<NetworkUse>,
    /// The calls of tools of its caller that have ended with its beginning: it was given their results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<RecordedToolCall>,
    /// True if its result was that of an earlier run, and nothing was executed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference over")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// What the time and the randomness of a reproducible run followed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedReproducible {
    /// What all randomness followed from.
    pub seed: u64,
    /// The time of day at the start, in seconds since the Unix epoch.
    pub epoch: u64,
}

impl From<Reproducible> for RecordedReproducible {
    fn from(run: Reproducible) -> Self {
        Self { seed: run.seed, epoch: run.epoch.as_secs() }
    }
}

/// The method that asked for a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// `execute_skill`.
    ExecuteSkill,
    /// `run_code`.
    RunCode,
}

impl RunKind {
    /// The name of the method.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ExecuteSkill => "execute_skill",
            Self::RunCode => "run_code",
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcomeKind {
    /// The program returned.
    Completed,
    /// The program raised, or returned what cannot be returned.
    Exception,
    /// It took too long.
    Timeout,
    /// It used up its fuel.
    FuelExhausted,
    /// It needed too much memory.
    MemoryLimit,
    /// Its stack overflowed.
    StackOverflow,
    /// The sandbox or the worker broke.
    SandboxCrash,
    /// The client went away or cancelled it, or the server stopped.
    Cancelled,
    /// It ran in the background, and the server ended before it did.
    Interrupted,
    /// It never began.
    Refused,
}

impl RunOutcomeKind {
    /// All ends, in the order of the documentation.
    pub const ALL: [Self; 10] = [
        Self::Completed,
        Self::Exception,
        Self::Timeout,
        Self::FuelExhausted,
        Self::MemoryLimit,
        Self::StackOverflow,
        Self::SandboxCrash,
        Self::Cancelled,
        Self::Interrupted,
        Self::Refused,
    ];

    /// The name of the end.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Exception => "exception",
            Self::Timeout => "timeout",
            Self::FuelExhausted => "fuel_exhausted",
            Self::MemoryLimit => "memory_limit",
            Self::StackOverflow => "stack_overflow",
            Self::SandboxCrash => "sandbox_crash",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
            Self::Refused => "refused",
        }
    }

    /// The end with this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The end of a run that failed with this type of error. A guest cannot choose a type that the
    /// host assigns.
    #[must_use]
    pub fn of_error_type(error_type: &str) -> Self {
        match error_type {
            "Timeout" => Self::Timeout,
            "FuelExhausted" => Self::FuelExhausted,
            "MemoryLimit" => Self::MemoryLimit,
            "StackOverflow" => Self::StackOverflow,
            "SandboxCrash" => Self::SandboxCrash,
            "Cancelled" => Self::Cancelled,
            INTERRUPTED => Self::Interrupted,
            _ => Self::Exception,
        }
    }
}

/// The reason why a run did not complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedError {
    /// The type that its caller got: the class of an exception, or a name of the protocol.
    #[serde(rename = "type")]
    pub error_type: String,
    /// One sentence.
    pub message: String,
    /// Frames of the program's own code.
    pub traceback: Option<String>,
}

/// A skill of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSkill {
    /// Its name.
    pub name: SkillName,
    /// Its version.
    pub version: SkillVersion,
    /// The digest of its files.
    pub digest: Digest,
    /// The trusted key that has signed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
}

/// Content that is known by its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedContent {
    /// SHA-256.
    pub digest: Digest,
    /// Its length.
    pub size_bytes: u64,
}

/// The arguments of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedArguments {
    /// SHA-256 of their JSON text.
    pub digest: Digest,
    /// The length of that text.
    pub size_bytes: u64,
    /// The arguments themselves, if the operator wants them in records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

/// The memory image that a run began as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedImage {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub digest: Digest,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLimits {
    /// Wall-clock time.
    pub timeout_ms: u64,
    /// Instructions, if they were counted.
    pub fuel: Option<u64>,
    /// Linear memory.
    pub memory_bytes: u64,
    /// All files of the workspace.
    pub workspace_bytes: u64,
    /// Files, folders and links of the workspace.
    pub workspace_entries: u32,
    /// Open files at one time.
    pub open_files: u32,
    /// Output and log lines.
    pub logs_bytes: u64,
    /// Calls to the host.
    pub host_calls: u32,
    /// Bytes of those calls.
    pub host_bytes: u64,
}

impl From<&RunLimits> for RecordedLimits {
    fn from(limits: &RunLimits) -> Self {
        Self {
            timeout_ms: u64::try_from(limits.wall_time.as_millis()).unwrap_or(u64::MAX),
            fuel: limits.fuel.map(|fuel| fuel.0),
            memory_bytes: limits.memory.as_u64(),
            workspace_bytes: limits.workspace.as_u64(),
            workspace_entries: limits.workspace_entries,
            open_files: limits.open_files,
            logs_bytes: limits.logs.as_u64(),
            host_calls: limits.host_calls,
            host_bytes: limits.host_bytes.as_u64(),
        }
    }
}

/// How long the phases of a run took, in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedPhases {
    /// Looking everything up: skills, layers, secrets, blobs.
    pub prepare: Option<u64>,
    /// Waiting for a worker.
    pub queue: Option<u64>,
    /// Sending the run to the worker, setting its memory up, and sending the outcome back.
    pub set_up: Option<u64>,
    /// The program.
    pub execute: Option<u64>,
    /// The part of `execute` in which the server stored blobs.
    pub write_blob: Option<u64>,
    /// The part of `execute` in which the server waited for the network.
    pub network: Option<u64>,
    /// Reading the returned value, and storing a large one.
    pub finish: Option<u64>,
}

/// The output and log lines of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedLog {
    /// Bytes that were kept with the record.
    pub bytes: u64,
    /// Bytes that the run kept and the record did not.
    pub cut_bytes: u64,
    /// Bytes beyond the limit of the run, which nobody kept.
    pub dropped_bytes: u64,
}

/// What a run did in the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkUse {
    /// Connections that were granted.
    pub connections: u64,
    /// Requests that were granted.
    pub requests: u64,
    /// Bytes to servers.
    pub sent_bytes: u64,
    /// Bytes from servers.
    pub received_bytes: u64,
    /// What was refused by rules.
    pub refusals: u64,
    /// Each host, by name.
    pub hosts: Vec<RecordedHost>,
}

/// What a run did with one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedHost {
    /// The name, or `(others)`.
    pub host: String,
    /// Requests that were granted.
    pub requests: u64,
    /// Bytes to it.
    pub sent_bytes: u64,
    /// Bytes from it.
    pub received_bytes: u64,
    /// What was refused by rules.
    pub refusals: u64,
}

/// A call of a tool that has ended: one of the caller, or one of the operator's servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedToolCall {
    /// The id of the request.
    pub id: String,
    /// The name of the tool.
    pub tool: String,
    /// What identifies the arguments.
    pub arguments: Digest,
    /// What identifies the output or the error that the program got.
    pub result: Digest,
    /// Its end.
    pub end: ToolCallEnd,
    /// The name of the key, or the subject of the token, with which it was approved, if it needed that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The run of the skill that the call has executed, if it was that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// The ends of calls of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallEnd {
    /// The program has an output.
    Answered,
    /// The tool has failed.
    Failed,
    /// The arguments or the output do not fit the schemas, or the tool may not be called.
    Refused,
}

impl ToolCallEnd {
    /// All ends, in the order of the documentation.
    pub const ALL: [Self; 3] = [Self::Answered, Self::Failed, Self::Refused];

    /// The name of the end.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Failed => "failed",
            Self::Refused => "refused",
        }
    }
}

/// The record of a run that is over, as callers get it: with its status, and the result that is kept.
/// `record` is the text of an object.
#[must_use]
pub fn with_result(record: &str, result: Option<&str>) -> String {
    let members = record.trim_end().strip_suffix('}').unwrap_or(record);
    format!("{members},\"status\":\"ended\",\"result\":{}}}", result.unwrap_or("null"))
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Id of the run.
    pub run_id: RunId,
    /// Its tenant, in a list of runs of other tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The title that its caller gave it, or a line of its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The method that was called.
    pub kind: String,
    /// The skill that was executed.
    pub skill: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The end.
    pub outcome: String,
    /// The type of the error, if it did not complete.
    pub error_type: Option<String>,
    /// When it was asked for, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// From then to the end, in microseconds.
    pub duration_us: u64,
    /// Bytes of its log.
    pub log_bytes: u64,
}
