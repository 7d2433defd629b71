//! The end of a run as its call gets it.

use crate::runs::active::StopReason;
use crate::sessions::asking::server_call::ServerCall;
use wardian_formats::job::outcome::{Logs, RunFailure};
use wardian_formats::job::profile::ProfileText;
use wardian_formats::protocol::methods::execution::{RunError, RunResult, RunStatus};
use wardian_formats::provenance::{RunDocument, Unrepeatable};
use wardian_stores::records::{INTERRUPTED, INTERRUPTION};
use wardian_vocabulary::ids::{BlobId, RunId};

/// What the summary says of a cell whose first worker was lost before the cell had done anything outside of it. It is
/// the last sentence, and in no document.
pub(crate) const REPEATED: &str = " It was begun a second time, because its first worker was lost.";

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Answered {
    pub result: RunResult,
    /// The kept logs, if the plan asked for the whole logs; the result has a preview of them.
    pub logs: Logs,
    /// The blob of an output that was too large for the result.
    pub output_blob: Option<BlobId>,
    /// The document, if one was wanted and the run repeats.
    pub document: Option<Box<RunDocument>>,
    /// The reason why a repetition may end in another way.
    pub unrepeatable: Option<Unrepeatable>,
    /// The profile, if one was wanted.
    pub profile: Option<ProfileText>,
    /// The calls of tools of the operator's servers that a cell waits for.
    pub server_calls: Vec<ServerCall>,
}

impl Answered {
    /// The end of a run that was stopped before it had ended.
    pub(crate) fn stopped(run_id: RunId, reason: StopReason) -> Self {
        match reason {
            StopReason::Cancelled => {
                Self::failed(run_id, "Cancelled", RunFailure::Cancelled.to_string())
            }
            StopReason::Interrupted => Self::failed(run_id, INTERRUPTED, INTERRUPTION.to_owned()),
        }
    }

    /// The end of a run, as its repeated call gets it, that a killed server had in progress.
    pub(crate) fn crashed(run_id: RunId) -> Self {
        let reason = "the server ended before the run did; the run is not repeated".to_owned();
        let failure = RunFailure::SandboxCrash { reason };
        Self::failed(run_id, failure.error_type(), failure.to_string())
    }

    fn failed(run_id: RunId, error_type: &str, message: String) -> Self {
        let result = RunResult {
            status: RunStatus::Failed,
            run_id,
            summary: message.clone(),
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
            error: Some(RunError { error_type: error_type.to_owned(), message, traceback: None }),
            logs_truncated: false,
            output_truncated: false,
            duration_ms: 0,
            memory_peak_bytes: 0,
            fuel: None,
            cached: false,
            display: Vec::new(),
            requests: Vec::new(),
            session: None,
        };
        let (logs, unrepeatable) = (Logs::default(), Unrepeatable::of_error_type(error_type));
        Self {
            result,
            logs,
            output_blob: None,
            document: None,
            unrepeatable,
            profile: None,
            server_calls: Vec::new(),
        }
    }
}
