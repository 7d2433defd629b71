//! Tests the isolation of the sandbox before the first call. A program that tries to escape and
//! programs that never end run as any call does.
//!
//! INVARIANT(proven-walls): a server on whose machine a probe escapes never becomes ready.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::caller::Caller;
use crate::error::ServiceError;
use crate::local_run::{LocalProgram, LocalRun};
use crate::run::prepare::purpose::RunPurpose;
use crate::service::Service;
use wardian_formats::protocol::methods::execution::{RequestedLimits, RunResult, RunStatus};

/// A program that tries to escape in many ways.
const PROBES: &str = include_str!("self_test.py");

/// Programs that only a deadline ends: one computes, the other sleeps.
const ENDLESS: [&str; 2] = ["while True:\n    pass\n", "import time\ntime.sleep(60)\n"];

/// The time limit of the endless programs, in milliseconds.
const TIMEOUT_MS: u64 = 50;

/// The reason why the self-test failed. Shown to the operator.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// A probe escaped.
    #[error("a program escaped from the sandbox: {escapes}")]
    Escaped {
        /// The probes that escaped, and the resource that each reached.
        escapes: String,
    },
    /// A program did not end as expected.
    #[error(
        "a program of the self-test ended unexpectedly: {end} (the settings `limits.memory` and \
         `limits.workspace` apply to it)"
    )]
    Unexpected {
        /// How it ended.
        end: String,
    },
    /// The programs cannot be run.
    #[error("the self-test cannot be run")]
    Run(#[from] ServiceError),
}

/// The report of the probes.
#[derive(Debug, Deserialize)]
struct Report {
    probes: usize,
    escaped: BTreeMap<String, String>,
}

impl Service {
    /// Runs the probes and the endless programs. Returns the number of probes that were stopped.
    /// The probes run twice, because the second run must find no trace of the first.
    ///
    /// # Errors
    ///
    /// A probe escaped, a program ended unexpectedly, or no program can be run.
    pub async fn self_test(&self) -> Result<usize, SelfTestError> {
        let mut stopped: usize = 0;
        for _ in 0..2 {
            let result = self.run_source(PROBES, RequestedLimits::default()).await?;
            stopped = stopped.saturating_add(judge(&result)?);
        }
        for source in ENDLESS {
            let limits =
                RequestedLimits { timeout_ms: Some(TIMEOUT_MS), ..RequestedLimits::default() };
            let result = self.run_source(source, limits).await?;
            let error_type = result.error.as_ref().map(|error| error.error_type.as_str());
            if error_type != Some("Timeout") {
                return Err(unexpected(&result));
            }
            stopped = stopped.saturating_add(1);
        }
        Ok(stopped)
    }

    async fn run_source(
        &self,
        source: &str,
        limits: RequestedLimits,
    ) -> Result<RunResult, ServiceError> {
        let caller = Caller::local("self-test");
        let program =
            LocalProgram::File { source: source.to_owned(), file_name: "self_test.py".to_owned() };
        let request = LocalRun { limits, ..LocalRun::new(program) };
        Ok(self.run_local(&caller, request, RunPurpose::SelfTest).await?.result)
    }
}

/// Returns the number of probes that were stopped. Fails unless all were.
fn judge(result: &RunResult) -> Result<usize, SelfTestError> {
    let output = result.output.as_ref().filter(|_| result.status == RunStatus::Completed);
    let report = output.and_then(|output| serde_json::from_str::<Report>(output.get()).ok());
    match report {
        Some(Report { probes, escaped }) if probes > 0 && escaped.is_empty() => Ok(probes),
        Some(Report { escaped, .. }) if !escaped.is_empty() => {
            let escapes = escaped.iter().map(|(probe, found)| format!("{probe} ({found})"));
            let escapes = escapes.collect::<Vec<_>>().join(", ");
            Err(SelfTestError::Escaped { escapes: escapes.escape_debug().to_string() })
        }
        _ => Err(unexpected(result)),
    }
}

fn unexpected(result: &RunResult) -> SelfTestError {
    SelfTestError::Unexpected { end: result.summary.escape_debug().to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use wardian_vocabulary::ids::RunId;

    fn completed(output: &str) -> RunResult {
        RunResult {
            status: RunStatus::Completed,
            run_id: RunId::generate(),
            summary: "done".to_owned(),
            output: Some(RawValue::from_string(output.to_owned()).unwrap()),
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
            duration_ms: 1,
            memory_peak_bytes: 1,
            fuel: None,
            cached: false,
            display: Vec::new(),
            requests: Vec::new(),
            session: None,
        }
    }

    #[test]
    fn proven_walls_are_those_that_stopped_every_probe() {
        assert_eq!(judge(&completed(r#"{"probes": 3, "escaped": {}}"#)).unwrap(), 3);
        let escaped = judge(&completed(r#"{"probes": 3, "escaped": {"a": "b\n"}}"#)).unwrap_err();
        assert_eq!(
            escaped.to_string(),
            "a program escaped from the sandbox: a (b\\\\n)".replace("\\\\", "\\")
        );
        for output in ["{}", "[]", r#"{"probes": 0, "escaped": {}}"#, "null"] {
            assert!(matches!(judge(&completed(output)), Err(SelfTestError::Unexpected { .. })));
        }
        let mut failed = completed(r#"{"probes": 3, "escaped": {}}"#);
        failed.status = RunStatus::Failed;
        assert!(judge(&failed).is_err(), "a run that failed proves nothing");
    }
}
