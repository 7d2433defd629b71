//! Wire types of `execute_skill` and `run_code`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::protocol::methods::asking::{AnswerParam, AskedRequest, ToolDeclaration};
use crate::protocol::methods::cells::{
    DisplayedObject, SessionOrderParam, SessionParam, SessionResult,
};
use crate::protocol::methods::input_blob::InputBlob;
pub use crate::protocol::methods::requested_limits::{RequestedLimits, TimeoutPlace};
use crate::protocol::params_error::ParamsError;
use wardian_vocabulary::ids::{BlobId, RunId};
use wardian_vocabulary::units::ByteCount;

/// Largest output inside a result, in bytes of JSON. A larger output becomes a blob.
pub const MAX_OUTPUT: usize = 4_096;

/// Longest `logs_preview`, in bytes.
pub const MAX_LOGS_PREVIEW: usize = 2_048;

/// The time of day at which reproducible runs begin unless they name another, in seconds since the
/// Unix epoch: the first of January 2026.
pub const DEFAULT_EPOCH: u64 = 1_767_225_600;

/// The parameters of `execute_skill`.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteSkillParams {
    /// Name of the skill, as sent.
    pub name: String,
    /// Its version, as sent; the latest without it.
    pub version: Option<String>,
    /// The arguments, as the text of a JSON object.
    pub args: Option<Box<RawValue>>,
    /// The script to run in place of the entrypoint, as sent.
    pub script: Option<String>,
    /// Its command line.
    #[serde(default)]
    pub argv: Vec<String>,
    /// The text on its standard input.
    pub stdin: Option<String>,
    /// Its environment variables, as the text of a JSON object.
    pub env: Option<Box<RawValue>>,
    /// The session in which the script is a cell.
    #[serde(default, skip_serializing)]
    pub session: Option<SessionParam>,
    /// Blobs to mount, as sent.
    #[serde(default)]
    pub input_blobs: Vec<InputBlob>,
    /// Files of the workspace to be stored.
    pub keep_files: Option<KeepFilesParam>,
    /// True if the program must return JSON data: nothing is converted.
    #[serde(default)]
    pub strict_output: bool,
    /// Whether the run is to be reproducible.
    pub reproducible: Option<ReproducibleParam>,
    /// The title of the run.
    pub label: Option<String>,
    /// The tools that the skill may call.
    #[serde(default, skip_serializing)]
    pub tools: Option<Vec<ToolDeclaration>>,
    /// True if the call returns while the run is in progress.
    #[serde(default)]
    pub detach: bool,
    /// The client's own name for the call.
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    limits: RequestedLimits,
}

impl ExecuteSkillParams {
    /// The latest version of a skill, with these arguments and nothing else.
    #[must_use]
    pub fn of_skill(name: String, args: Option<Box<RawValue>>) -> Self {
        Self {
            name,
            version: None,
            args,
            script: None,
            argv: Vec::new(),
            stdin: None,
            env: None,
            session: None,
            input_blobs: Vec::new(),
            keep_files: None,
            strict_output: false,
            reproducible: None,
            label: None,
            tools: None,
            detach: false,
            idempotency_key: None,
            timeout_ms: None,
            limits: RequestedLimits::default(),
        }
    }

    /// The limits that the call asks for.
    #[must_use]
    pub const fn limits(&self) -> RequestedLimits {
        self.limits
    }

    /// The call that goes on with the session in which the skill waits, with these answers.
    #[must_use]
    pub fn answering(self, session: String, answers: Vec<AnswerParam>) -> RunCodeParams {
        let Self { keep_files, strict_output, label, timeout_ms, limits, .. } = self;
        let own = RunCodeParams { keep_files, strict_output, label, ..RunCodeParams::default() };
        RunCodeParams { timeout_ms, limits, ..own }.answering(session, answers)
    }

    /// The call of `run_code` with the same session, limits and wishes for files.
    #[must_use]
    pub fn into_cell(self, code: String, mount_skills: Vec<String>) -> RunCodeParams {
        let Self { input_blobs, keep_files, reproducible, label, session, .. } = self;
        let Self { timeout_ms, limits, .. } = self;
        let code = RunCodeParams { code, mount_skills, input_blobs, ..RunCodeParams::default() };
        RunCodeParams { keep_files, reproducible, label, session, timeout_ms, limits, ..code }
    }

    /// Joins the two places where a timeout may stand.
    pub(crate) fn settled(mut self) -> Result<Self, ParamsError> {
        self.limits = self.limits.with_timeout(self.timeout_ms)?;
        Ok(self)
    }
}

/// Prints no arguments: they may hold anything and must not reach a log.
impl fmt::Debug for ExecuteSkillParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecuteSkillParams")
            .field("name", &self.name)
            .field("version", &self.version)
            .field("input_blobs", &self.input_blobs)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The parameters of `run_code`.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunCodeParams {
    /// The language of the code.
    pub language: Language,
    /// The code.
    pub code: String,
    /// The function to call: an identifier. Without it the code may be a script.
    pub entrypoint: Option<String>,
    /// Its arguments, as the text of a JSON object.
    pub args: Option<Box<RawValue>>,
    /// Skills to mount, as sent.
    #[serde(default)]
    pub mount_skills: Vec<String>,
    /// Blobs to mount, as sent.
    #[serde(default)]
    pub input_blobs: Vec<InputBlob>,
    /// Files of the workspace to be stored.
    pub keep_files: Option<KeepFilesParam>,
    /// True if the program must return JSON data: nothing is converted.
    #[serde(default)]
    pub strict_output: bool,
    /// Whether the run is to be reproducible.
    pub reproducible: Option<ReproducibleParam>,
    /// The title of the run.
    pub label: Option<String>,
    /// The session in which the code is a cell.
    #[serde(default, skip_serializing)]
    pub session: Option<SessionParam>,
    /// The tools that the cell may call.
    #[serde(default, skip_serializing)]
    pub tools: Option<Vec<ToolDeclaration>>,
    /// The answers to what a cell waits for, which goes on then.
    #[serde(default, skip_serializing)]
    pub answers: Option<Vec<AnswerParam>>,
    /// True if a cell that waits is ended without a trace.
    #[serde(default)]
    pub abandon: bool,
    /// True if the call returns while the run is in progress.
    #[serde(default)]
    pub detach: bool,
    /// The client's own name for the call.
    pub idempotency_key: Option<String>,
    /// True if nobody can approve calls of tools.
    #[serde(skip)]
    pub asks_nobody: bool,
    /// True if the code runs a script of a skill, whose result it has.
    #[serde(skip)]
    pub is_script: bool,
    #[serde(default, skip_serializing)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    limits: RequestedLimits,
}

impl RunCodeParams {
    /// Python code with nothing else, and the timeout that its call asks for.
    #[must_use]
    pub fn of_code(code: String, timeout_ms: Option<u64>) -> Self {
        let limits = RequestedLimits::default().with_timeout(timeout_ms).unwrap_or_default();
        Self { code, limits, ..Self::default() }
    }

    /// The limits that the call asks for.
    #[must_use]
    pub const fn limits(&self) -> RequestedLimits {
        self.limits
    }

    /// The call that goes on with a session whose code waits, with these answers.
    #[must_use]
    pub fn answering(self, session: String, answers: Vec<AnswerParam>) -> Self {
        let keep = self.session.and_then(|session| session.into_order().keep);
        let order = SessionOrderParam { id: Some(session), keep, ..SessionOrderParam::default() };
        Self {
            code: String::new(),
            entrypoint: None,
            args: None,
            mount_skills: Vec::new(),
            input_blobs: Vec::new(),
            session: Some(SessionParam::Order(order)),
            tools: None,
            answers: Some(answers),
            ..self
        }
    }

    /// Joins the two places where a timeout may stand.
    pub(crate) fn settled(mut self) -> Result<Self, ParamsError> {
        self.limits = self.limits.with_timeout(self.timeout_ms)?;
        Ok(self)
    }
}

/// Prints neither code nor arguments: they may hold anything and must not reach a log.
impl fmt::Debug for RunCodeParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunCodeParams")
            .field("code", &ByteCount::from(self.code.len()))
            .field("entrypoint", &self.entrypoint)
            .field("mount_skills", &self.mount_skills)
            .field("input_blobs", &self.input_blobs)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The files of the workspace to store as blobs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum KeepFilesParam {
    /// All or none of them.
    Flag(bool),
    /// The files that match a glob pattern.
    Patterns(Vec<String>),
}

/// Whether, and from what, a run is to be reproducible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum ReproducibleParam {
    /// From the defaults, or not at all.
    Flag(bool),
    /// From these.
    Inputs {
        /// Decides all randomness.
        seed: u64,
        /// The time of day at the start, in seconds since the Unix epoch.
        epoch: u64,
        /// Whether a kept result of the same run may answer.
        #[serde(default)]
        cache: bool,
    },
}

/// A language for code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python.
    #[default]
    Python,
}

/// The result of `execute_skill` and `run_code`.
#[derive(Clone, Serialize)]
pub struct RunResult {
    /// The end of the run.
    pub status: RunStatus,
    /// Id of the run.
    pub run_id: RunId,
    /// One sentence for people and models.
    pub summary: String,
    /// The returned value: an object, `null`, or a [`TruncatedOutput`] in place of a large object.
    pub output: Option<Box<RawValue>>,
    /// The parts of `output` that were no JSON data, and what became of them: at most 20 entries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub converted: Vec<ConvertedValue>,
    /// The number of all converted parts, if not all of them are in `converted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub converted_total: Option<u64>,
    /// The blobs that the run stored, in order.
    pub output_blobs: Vec<BlobId>,
    /// The files that the program left in its workspace, or some of them if there are many.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileResult>,
    /// The number of all files, if not all of them are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_total: Option<u64>,
    /// The exit code of a script; none if it was stopped, and for other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// What a script wrote to its standard output: all, or the beginning and the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    /// What a script wrote to its error stream: all, or the beginning and the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// The program's output and logs, at most [`MAX_LOGS_PREVIEW`] bytes: all, or the beginning and
    /// the end with a line between them that counts the omitted bytes.
    pub logs_preview: String,
    /// The reason why the run failed; `None` if it completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// True if the program wrote more than the preview shows.
    pub logs_truncated: bool,
    /// True if `output` is a [`TruncatedOutput`] that the server made. A program can return an
    /// object that looks like one, but it cannot set this member.
    pub output_truncated: bool,
    /// Wall-clock time from the first instruction to the end.
    pub duration_ms: u64,
    /// Peak memory in bytes, the interpreter's included.
    pub memory_peak_bytes: u64,
    /// Executed WebAssembly instructions, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// True if the result was kept from an earlier run with the same inputs, and nothing was executed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What a cell displayed, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub display: Vec<DisplayedObject>,
    /// What a cell waits for: its caller goes on with answers to all of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<AskedRequest>,
    /// What has become of the session, if the run was a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionResult>,
}

/// Parts of an output that were no JSON data, all converted in the same way.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ConvertedValue {
    /// The place of the first of them in `output`, such as `$.rows[0].when`.
    pub path: String,
    /// Their type in Python, such as `datetime.date`.
    pub from: String,
    /// What they are now, such as `ISO 8601 text`.
    pub to: String,
    /// Their number, if there are several: in the items of lists at the same place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

impl ConvertedValue {
    /// Bytes of its texts.
    pub fn text_size(&self) -> usize {
        [&self.path, &self.from, &self.to].into_iter().map(String::len).sum()
    }
}

/// Prints no path: it comes from the program and must not reach a log.
impl fmt::Debug for ConvertedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConvertedValue").field("count", &self.count).finish_non_exhaustive()
    }
}

/// The result of a call with `detach`: the run continues.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DetachedRun {
    /// How far the run is.
    pub status: RunProgress,
    /// Id of the run.
    pub run_id: RunId,
}

/// How far a run is that its client does not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunProgress {
    /// It waits for a worker.
    Queued,
    /// It has a worker.
    Running,
    /// It is over.
    Ended,
}

/// A file that a run left in its workspace.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct FileResult {
    /// Path below `/workspace`.
    pub path: String,
    /// Length of the content.
    pub size_bytes: u64,
    /// The blob that has its content, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blob_id: Option<BlobId>,
    /// MIME type of the blob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The reason why the file could not be stored although the call asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}

/// Prints no path: it comes from the program and must not reach a log.
impl fmt::Debug for FileResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileResult").field("size_bytes", &self.size_bytes).finish_non_exhaustive()
    }
}

/// Prints neither output nor logs: they may hold anything and must not reach a log.
impl fmt::Debug for RunResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunResult")
            .field("status", &self.status)
            .field("run_id", &self.run_id)
            .field("output_blobs", &self.output_blobs)
            .field("duration_ms", &self.duration_ms)
            .finish_non_exhaustive()
    }
}

/// The ends of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// The program returned.
    Completed,
    /// The program did not return.
    Failed,
    /// The program waits for its caller, and goes on with the answers.
    Waiting,
}

/// The reason why a run failed.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct RunError {
    /// Stable name that callers branch on: the class of a Python exception, or a type that the host
    /// assigns, such as `Timeout`.
    #[serde(rename = "type")]
    pub error_type: String,
    /// One sentence.
    pub message: String,
    /// Frames of the program's own code, as Python prints them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
}

/// Prints only the type: the message comes from the program and may hold anything.
impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunError").field("error_type", &self.error_type).finish_non_exhaustive()
    }
}

/// Replaces an output that is too large for a result. [`RunResult::output_truncated`] distinguishes
/// it from a program's output of the same form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruncatedOutput {
    /// Always true.
    pub truncated: bool,
    /// The blob with the whole output.
    pub blob_id: BlobId,
    /// Length of the whole output in bytes.
    pub size_bytes: u64,
    /// The beginning of the output.
    pub preview: String,
}

/// The beginning of an output whose value is not an object: it is the member `result` of one.
const WRAPPED: &str = "{\"result\":";

/// The beginning of a value, in the [`preview`](TruncatedOutput::preview) of its output.
#[must_use]
pub fn value_in_preview(preview: &str) -> &str {
    preview.strip_prefix(WRAPPED).unwrap_or(preview)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed() -> RunResult {
        RunResult {
            status: RunStatus::Completed,
            run_id: RunId::parse(&format!("run_{}", "0".repeat(32))).unwrap(),
            summary: "Completed in 12 ms.".into(),
            output: None,
            converted: Vec::new(),
            converted_total: None,
            output_blobs: Vec::new(),
            files: Vec::new(),
            files_total: None,
            exit_code: None,
            stdout: None,
            stderr: None,
            logs_preview: String::new(),
            error: None,
            logs_truncated: false,
            output_truncated: false,
            duration_ms: 12,
            memory_peak_bytes: 1 << 20,
            fuel: None,
            cached: false,
            display: Vec::new(),
            requests: Vec::new(),
            session: None,
        }
    }

    #[test]
    fn a_completed_run_looks_as_the_protocol_shows_it() {
        assert_eq!(
            serde_json::to_string(&completed()).unwrap(),
            concat!(
                r#"{"status":"completed","run_id":"run_00000000000000000000000000000000","#,
                r#""summary":"Completed in 12 ms.","output":null,"output_blobs":[],"#,
                r#""logs_preview":"","logs_truncated":false,"output_truncated":false,"#,
                r#""duration_ms":12,"memory_peak_bytes":1048576}"#
            )
        );
    }

    #[test]
    fn a_failed_run_has_its_error() {
        let error = RunError {
            error_type: "ValueError".into(),
            message: "no".into(),
            traceback: Some("Traceback".into()),
        };
        let failed = RunResult {
            status: RunStatus::Failed,
            error: Some(error),
            output: Some(RawValue::from_string("{\"z\":1}".into()).unwrap()),
            ..completed()
        };
        let text = serde_json::to_string(&failed).unwrap();
        assert!(text.starts_with(r#"{"status":"failed""#), "{text}");
        let error = r#""error":{"type":"ValueError","message":"no","traceback":"Traceback"}"#;
        assert!(text.contains(error), "{text}");
        assert!(text.contains(r#""output":{"z":1}"#), "{text}");
    }

    #[test]
    fn results_print_no_content_for_logs() {
        let error = RunError { error_type: "E".into(), message: "SECRET".into(), traceback: None };
        let run = RunResult { logs_preview: "SECRET".into(), error: Some(error), ..completed() };
        assert!(!format!("{run:?} {:?}", run.error).contains("SECRET"));
    }
}
