//! The outcome of a run. A guest that misbehaves is an outcome, never an `Err`.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

use crate::job::few::at_most;
use crate::job::profile::ProfileText;
use crate::job::session::cell::CellOutcome;
use wardian_vocabulary::ids::{BlobId, BlobName};
use wardian_vocabulary::units::{ByteCount, Fuel};

/// Longest class name of an exception, in bytes.
pub const MAX_CLASS: usize = 128;

/// Longest message of a failure, in bytes: enough for any honest one.
pub const MAX_MESSAGE: usize = 16 << 10;

/// Longest traceback, in bytes: the runner sends at most as much.
pub const MAX_TRACEBACK: usize = 32 << 10;

/// Maximum number of files of a workspace that an outcome lists.
pub const MAX_LEFT_FILES: usize = 100;

/// Maximum number of blobs that one run can name.
pub const MAX_BLOB_NAMES: usize = 1_000;

/// Longest path of a listed file, in bytes. Files with longer ones are counted and not listed.
pub const MAX_LEFT_PATH: usize = 512;

/// Longest reason why a file was not kept, in bytes.
pub const MAX_NOT_KEPT: usize = 512;

/// Maximum number of entries that tell of converted values. The guest's runner lists at most as
/// many.
pub(crate) const MAX_CONVERSIONS: usize = 20;

/// Longest text about converted values, in bytes: a path of 251 characters.
pub(crate) const MAX_CONVERSION: usize = 1_024;

/// The reason why hidden files are not kept without being asked for. A summary does not name them.
pub const HIDDEN_NOT_KEPT: &str = "hidden files are not kept by default: name it in `keep_files`";

/// True if `text` looks like the name of a class, perhaps within modules.
#[must_use]
pub fn is_class_name(text: &str) -> bool {
    let letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    !text.is_empty() && text.len() <= MAX_CLASS && text.chars().all(letter)
}

/// The end of one run. The returned value itself travels next to it, as [`Output`].
///
/// [`Output`]: crate::job::message::Payload
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOutcome {
    /// `Ok` if the entrypoint returned, otherwise the reason why it did not.
    pub end: Result<(), RunFailure>,
    /// The guest's output and log lines, in order.
    pub logs: Logs,
    /// The files that the guest left in its workspace.
    pub files: LeftFiles,
    /// The parts of the returned value that were converted.
    #[serde(default)]
    pub conversions: Conversions,
    /// The names that the guest gave the blobs that it stored itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "few_names")]
    pub blob_names: Vec<(BlobId, BlobName)>,
    /// The resources that the run used.
    pub usage: RunUsage,
    /// The profile, if one was ordered.
    #[serde(default)]
    pub profile: Option<ProfileText>,
    /// What a cell leaves beside the rest; nothing for other turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<Box<CellOutcome>>,
}

impl RunOutcome {
    /// The outcome of a turn without a program, which is over.
    #[must_use]
    pub fn of_files(usage: RunUsage) -> Self {
        Self {
            end: Ok(()),
            logs: Logs::default(),
            files: LeftFiles::default(),
            conversions: Conversions::default(),
            blob_names: Vec::new(),
            usage,
            profile: None,
            cell: None,
        }
    }
}

/// The reason why a guest did not finish.
///
/// [`RunFailure::error_type`] is sent to callers as `error.type`, so the names are stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunFailure {
    /// Python code raised and did not catch it: the sandbox worked, the code did not.
    Exception {
        /// Class name, such as `ValueError`.
        class: String,
        /// `str()` of the exception.
        message: String,
        /// Frames of user code as Python prints them; none for errors before any frame ran.
        traceback: Option<String>,
    },
    /// The wall clock ran out.
    Timeout {
        /// The deadline that was passed.
        limit: Duration,
        /// Frames of user code, for a cell that was interrupted at its deadline.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traceback: Option<String>,
    },
    /// The instruction budget ran out.
    FuelExhausted {
        /// The budget.
        limit: Fuel,
    },
    /// The guest asked for more memory than it may have and did not survive the refusal.
    MemoryLimit {
        /// The ceiling.
        limit: ByteCount,
        /// Frames of user code, if Python was still able to report them.
        traceback: Option<String>,
    },
    /// The guest's call stack overflowed below Python's own recursion check.
    StackOverflow,
    /// The interpreter or the sandbox broke; nothing outside the run is affected.
    SandboxCrash {
        /// The known reason, in words for the caller.
        reason: String,
    },
    /// The caller or an operator stopped the run.
    Cancelled,
}

impl RunFailure {
    /// The stable name that callers branch on: the Python class for exceptions, otherwise one of
    /// the names of this protocol.
    #[must_use]
    pub fn error_type(&self) -> &str {
        match self {
            Self::Exception { class, .. } => class,
            Self::Timeout { .. } => "Timeout",
            Self::FuelExhausted { .. } => "FuelExhausted",
            Self::MemoryLimit { .. } => "MemoryLimit",
            Self::StackOverflow => "StackOverflow",
            Self::SandboxCrash { .. } => "SandboxCrash",
            Self::Cancelled => "Cancelled",
        }
    }

    /// The frames of user code, if Python had any to show.
    #[must_use]
    pub fn traceback(&self) -> Option<&str> {
        match self {
            Self::Exception { traceback, .. }
            | Self::Timeout { traceback, .. }
            | Self::MemoryLimit { traceback, .. } => traceback.as_deref(),
            _ => None,
        }
    }
}

/// Prints the sentence that callers see as `error.message`.
impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exception { message, .. } => f.write_str(message),
            Self::Timeout { limit, .. } => {
                let milliseconds = limit.as_millis();
                write!(
                    f,
                    "the run was stopped after its limit of {milliseconds} ms: a call asks for \
                     more with `timeout_ms`, up to the operator's `limits.max.timeout`"
                )
            }
            Self::FuelExhausted { limit } => {
                write!(f, "the run used up its budget of {} units of fuel", limit.0)
            }
            Self::MemoryLimit { limit, .. } => {
                write!(
                    f,
                    "the run needed more than its limit of {limit} of memory: a call asks for \
                     more with `limits.memory_bytes`, up to the operator's `limits.max.memory`; a session \
                     does so in the call that begins it"
                )
            }
            Self::StackOverflow => f.write_str("the call stack overflowed"),
            Self::SandboxCrash { reason } => f.write_str(reason),
            Self::Cancelled => f.write_str("the run was cancelled"),
        }
    }
}

/// The files that a guest left in its workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFiles {
    /// The first [`MAX_LEFT_FILES`], in the order of their paths; kept files come first.
    #[serde(deserialize_with = "few_files")]
    pub listed: Vec<LeftFile>,
    /// How many there are.
    pub total: u64,
}

/// The parts of a returned value that are no JSON data and were converted by the guest's runner. As
/// the value itself, a program can make them up.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversions {
    /// The first [`MAX_CONVERSIONS`] kinds of conversions.
    #[serde(deserialize_with = "few_conversions")]
    pub listed: Vec<Conversion>,
    /// How many parts were converted.
    pub total: u64,
}

/// Reads a list of at most [`MAX_LEFT_FILES`] files.
fn few_files<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<LeftFile>, D::Error> {
    at_most(MAX_LEFT_FILES, deserializer)
}

/// Equal conversions of one or several parts of a value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversion {
    /// The path of the first of these parts: `$` for the value itself.
    pub path: String,
    /// The type in Python.
    pub from: String,
    /// The form in JSON.
    pub to: String,
    /// How many parts there are.
    pub count: u64,
}

impl Conversions {
    /// Longest text that is read, in bytes.
    const MAX_TEXT: usize = 64 << 10;

    /// Reads the report of a guest's runner, which may be hostile.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        if text.len() > Self::MAX_TEXT {
            return None;
        }
        serde_json::from_slice::<Self>(text).ok().filter(Self::is_bounded)
    }

    /// True if every text has at most [`MAX_CONVERSION`] bytes, and the list is short.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let is_short = |text: &String| text.len() <= MAX_CONVERSION;
        self.listed.len() <= MAX_CONVERSIONS
            && self
                .listed
                .iter()
                .all(|one| [&one.path, &one.from, &one.to].into_iter().all(is_short))
    }
}

/// Prints no path: the program chooses it, so it may hold anything.
impl fmt::Debug for Conversions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversions").field("total", &self.total).finish_non_exhaustive()
    }
}

/// Prints no path: the program chooses it, so it may hold anything.
impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Reads a list of at most [`MAX_CONVERSIONS`] conversions.
fn few_conversions<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Conversion>, D::Error> {
    at_most(MAX_CONVERSIONS, deserializer)
}

/// Reads a list of at most [`MAX_BLOB_NAMES`] names.
fn few_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(BlobId, BlobName)>, D::Error> {
    at_most(MAX_BLOB_NAMES, deserializer)
}

/// A file that a guest left in its workspace.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    /// Path below `/workspace`.
    pub path: String,
    /// Length of the content.
    pub size: ByteCount,
    /// The blob that has its content, if it was kept.
    pub kept: Option<KeptFile>,
    /// The reason why it was not kept although it should have been.
    pub problem: Option<String>,
}

/// Prints no path: the program chooses it, so it may hold anything.
impl fmt::Debug for LeftFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeftFile").field("size", &self.size).finish_non_exhaustive()
    }
}

/// The blob that has a file's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFile {
    /// Names the blob.
    pub id: BlobId,
    /// Its MIME type.
    pub kind: String,
}

/// The source of a piece of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// File descriptor 1.
    Stdout,
    /// File descriptor 2.
    Stderr,
    /// `runtime.log`: one line each.
    Log,
    /// `runtime.progress`: a [`ProgressReport`] as JSON. It is reported to listeners and never
    /// kept.
    Progress,
    /// What the program asks of its caller, while it goes on: a
    /// [`CallerRequest`](crate::job::session::asking::CallerRequest) as JSON. It is reported to listeners
    /// and never kept.
    Request,
}

impl Stream {
    /// True for output, which logs keep.
    #[must_use]
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Stdout | Self::Stderr | Self::Log)
    }
}

/// How far a program is, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressReport {
    /// What is done, in units of the program's choice: finite and not negative.
    pub done: f64,
    /// What there is to do, if the program knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// What the program does at the moment.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl ProgressReport {
    /// Longest message, in bytes.
    pub const MAX_MESSAGE: usize = 512;

    /// Longest report as JSON, in bytes: every byte of the message may be escaped.
    pub const MAX_JSON: usize = 4 << 10;

    /// Most reports of one run. Later ones are dropped.
    pub const MOST: u32 = 10_000;

    /// A report with numbers that make sense, and with a message of one line.
    #[must_use]
    pub fn checked(done: f64, total: Option<f64>, message: &str) -> Option<Self> {
        let is_plain = |number: f64| number.is_finite() && number >= 0.0;
        let end = message.floor_char_boundary(Self::MAX_MESSAGE);
        let message = message.get(..end).unwrap_or_default();
        let message = message.replace(char::is_control, " ");
        let total = total.filter(|total| is_plain(*total));
        is_plain(done).then_some(Self { done, total, message })
    }

    /// Reads a report that may come from a hostile worker.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let Self { done, total, message } = serde_json::from_str(text).ok()?;
        Self::checked(done, total, &message)
    }
}

/// Consecutive output of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogChunk {
    /// Its source.
    pub stream: Stream,
    /// The text; bytes that are no UTF-8 were replaced.
    pub text: String,
}

/// Everything a guest wrote, in order, up to its limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    /// The pieces that were kept.
    pub chunks: Vec<LogChunk>,
    /// Bytes that were written beyond the limit, and are in no chunk.
    pub dropped: u64,
    /// The last of these bytes, apart for the standard output and the error stream: a program says at
    /// the end how it went.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<LogChunk>,
}

impl Logs {
    /// Most bytes of one end.
    pub const MAX_END: usize = 7 << 10;

    /// Most bytes that a listener gets when the output is beyond the limit: the line that says so, and both ends.
    pub const MAX_TOLD_END: usize = Self::MAX_END * 2 + 128;

    /// Bytes that were written, and are neither kept nor among the ends.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let ends = self.ends.iter().map(|end| end.text.len()).sum::<usize>();
        self.dropped.saturating_sub(u64::try_from(ends).unwrap_or(u64::MAX))
    }

    /// A line for the place between what was kept and the ends, which says how much is in neither.
    #[must_use]
    pub fn lost_line(&self) -> String {
        let lost = self.lost();
        format!(
            "\n[{lost} bytes of both streams together are beyond the limit of logs, and lost]\n"
        )
    }
}

/// The resources that a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUsage {
    /// From the first instruction to the end.
    pub wall_time: Duration,
    /// Processor time of the guest's thread, if it was measured.
    #[serde(default)]
    pub cpu_time: Option<Duration>,
    /// Instructions executed, if they were counted; inexact after a timeout.
    pub fuel: Option<Fuel>,
    /// Largest size of the linear memory.
    pub memory_peak: ByteCount,
    /// Host calls that the guest made.
    pub host_calls: u32,
    /// How long the worker took to reset its memory after the run before this one, if it had one.
    /// An outcome is sent before the reset that follows it.
    #[serde(default)]
    pub last_reset: Option<Duration>,
    /// How long the worker took to make the guest from its packs, if this is its first turn since then.
    #[serde(default)]
    pub resumed: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_too_many_files_is_not_read() {
        let file = r#"{"path":"a","size":0,"kept":null,"problem":null}"#;
        for (count, is_read) in [(0, true), (MAX_LEFT_FILES, true), (MAX_LEFT_FILES + 1, false)] {
            let listed = vec![file; count].join(",");
            let text = format!(r#"{{"listed":[{listed}],"total":{count}}}"#);
            let read = serde_json::from_str::<LeftFiles>(&text);
            assert_eq!(read.is_ok(), is_read, "{count} files");
        }
    }

    #[test]
    fn conversions_of_a_hostile_guest_are_bounded() {
        let entry =
            |path: &str| format!(r#"{{"path":"{path}","from":"set","to":"list","count":1}}"#);
        let read = |entries: &[String]| {
            let text = format!(r#"{{"listed":[{}],"total":7}}"#, entries.join(","));
            Conversions::read(text.as_bytes())
        };
        assert_eq!(read(&[entry("$.a")]).unwrap().total, 7);
        assert!(read(&vec![entry("$"); MAX_CONVERSIONS]).is_some());
        assert!(read(&vec![entry("$"); MAX_CONVERSIONS + 1]).is_none());
        assert!(read(&[entry(&"x".repeat(MAX_CONVERSION))]).is_some());
        assert!(read(&[entry(&"x".repeat(MAX_CONVERSION + 1))]).is_none());
        assert!(Conversions::read(" ".repeat(Conversions::MAX_TEXT + 1).as_bytes()).is_none());
        for text in ["", "[]", "{}", r#"{"listed":[],"total":-1}"#, "\u{feff}{}"] {
            assert!(Conversions::read(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn failures_read_well() {
        let timeout = RunFailure::Timeout { limit: Duration::from_secs(2), traceback: None };
        assert_eq!(
            timeout.to_string(),
            "the run was stopped after its limit of 2000 ms: a call asks for more with \
             `timeout_ms`, up to the operator's `limits.max.timeout`"
        );
        assert_eq!(timeout.error_type(), "Timeout");
        let memory = RunFailure::MemoryLimit { limit: ByteCount::mebibytes(512), traceback: None };
        assert_eq!(
            memory.to_string(),
            "the run needed more than its limit of 512 MiB of memory: a call asks for more with \
             `limits.memory_bytes`, up to the operator's `limits.max.memory`; a session does so in the \
             call that begins it"
        );
    }
}
