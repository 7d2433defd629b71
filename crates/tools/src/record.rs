//! What is recorded of a call.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::answer::ToolAnswer;
use crate::error::ToolError;
use wardian_vocabulary::ids::Digest;

/// Longest name that is recorded of a tool that does not exist, in characters.
const MAX_NAME: usize = 128;

/// A call of a tool, for the record of its run and the audit log.
#[derive(Debug, Clone, Serialize)]
pub struct ToolCallRecord {
    /// The name of the tool, as the program wrote it.
    pub tool: String,
    /// The digest of the arguments as JSON.
    pub arguments_sha256: Digest,
    /// The arguments, if the operator keeps them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// How it ended.
    pub outcome: ToolCallEnd,
    /// The digest of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_sha256: Option<Digest>,
    /// The answer, if the operator keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// Who approved of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// How a call ended. The words are labels of metrics, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolCallEnd {
    /// The tool answered.
    Answered,
    /// The tool reported an error.
    ToolError,
    /// The run has no such tool.
    Unknown,
    /// It was refused before its server was asked: arguments, bounds, credentials, a tool that has changed.
    Refused,
    /// It waits for an approval.
    NeedsApproval,
    /// Its server was too slow.
    Late,
    /// Its server answered too much.
    TooLarge,
    /// Its server failed.
    Failed,
}

impl ToolCallEnd {
    pub(crate) const fn of(called: &Result<ToolAnswer, ToolError>) -> Self {
        match called {
            Ok(ToolAnswer { is_error: false, .. }) => Self::Answered,
            Ok(ToolAnswer { is_error: true, .. }) => Self::ToolError,
            Err(ToolError::Unknown { .. }) => Self::Unknown,
            Err(ToolError::NeedsApproval { .. }) => Self::NeedsApproval,
            Err(ToolError::Late { .. }) => Self::Late,
            Err(ToolError::TooLarge { .. }) => Self::TooLarge,
            Err(ToolError::Failed { .. }) => Self::Failed,
            Err(
                ToolError::Changed { .. }
                | ToolError::Arguments { .. }
                | ToolError::TooManyCalls { .. }
                | ToolError::Credentials { .. },
            ) => Self::Refused,
        }
    }
}

impl ToolCallRecord {
    pub(crate) fn new(
        (tool, arguments): (&str, &RawValue),
        approved_by: Option<String>,
        called: &Result<ToolAnswer, ToolError>,
        (took, keeps_values): (Duration, bool),
    ) -> Self {
        let answer = called.as_ref().ok().map(|answer| &answer.value);
        Self {
            tool: tool.chars().take(MAX_NAME).collect(),
            arguments_sha256: Digest::of(arguments.get().as_bytes()),
            arguments: keeps_values.then(|| arguments.to_owned()),
            outcome: ToolCallEnd::of(called),
            result_sha256: answer.map(|value| Digest::of(value.get().as_bytes())),
            result: answer.filter(|_| keeps_values).cloned(),
            approved_by,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
