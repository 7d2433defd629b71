//! Calls of tools of the operator's servers, which the gateway makes for a cell that waits.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use wardian_formats::job::session::asking::{JsonText, ToolRequest};
use wardian_formats::protocol::members::Sort;
use wardian_formats::protocol::methods::asking::{AnswerParam, AskedKind};
use wardian_formats::protocol::params_error::ParamsError;
use wardian_stores::records::{RecordedToolCall, ToolCallEnd};
use wardian_tools::{ServedCallEnd, ToolAnswer, ToolError};
use wardian_vocabulary::ids::{Digest, RunId};

/// What the program gets of a call whose answer nobody has waited for.
pub(crate) const CUT_OFF: &str =
    "the call was cut off: the tool may have done what it was called for, and its answer is lost";

/// A call of a tool of a server, as a cell has made it.
#[derive(Debug)]
pub(crate) struct ServerCall {
    /// The number of the request.
    pub(crate) number: u32,
    /// Its id in records.
    pub(crate) id: String,
    /// The digest of the tool as the program knows it.
    pub(crate) listed: Digest,
    pub(crate) call: ToolRequest,
    /// Who has approved it, if it needed that.
    pub(crate) approved_by: Option<String>,
}

/// The answer to such a call.
pub(crate) struct ServerReply {
    /// The number of the request.
    pub(crate) number: u32,
    pub(crate) output: Option<JsonText>,
    pub(crate) error: Option<String>,
    /// The call, for the record of the run.
    pub(crate) recorded: RecordedToolCall,
}

/// Prints neither output nor error: they may hold anything and must not reach a log.
impl fmt::Debug for ServerReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerReply").field("number", &self.number).finish_non_exhaustive()
    }
}

impl ServerReply {
    /// True if its server was asked, or may have been.
    pub(crate) fn was_asked(&self) -> bool {
        self.recorded.end != ToolCallEnd::Refused
    }

    /// Bytes of the answer.
    pub(crate) fn bytes(&self) -> usize {
        let output = self.output.as_ref().map_or(0, |output| output.as_str().len());
        output.saturating_add(self.error.as_ref().map_or(0, String::len))
    }

    /// Puts an error in the place of the output.
    pub(crate) fn drop_output(&mut self, reason: &str) {
        (self.output, self.error) = (None, Some(reason.to_owned()));
        self.recorded.result = Digest::of(reason.as_bytes());
        self.recorded.end = ToolCallEnd::Failed;
    }

    /// The answer to a call with this end.
    pub(crate) fn of(call: &BegunCall, called: Result<ToolAnswer, ToolError>) -> Self {
        let end = match ServedCallEnd::of(&called) {
            ServedCallEnd::Answered => ToolCallEnd::Answered,
            ServedCallEnd::Refused => ToolCallEnd::Refused,
            ServedCallEnd::Failed => ToolCallEnd::Failed,
        };
        let (output, error) = match called {
            Ok(answer) => match answer.error_text() {
                None => (Some(JsonText::new(answer.value)), None),
                error => (None, error),
            },
            Err(error) => (None, Some(error.to_string())),
        };
        let text = error.as_deref().or(output.as_ref().map(JsonText::as_str)).unwrap_or_default();
        let recorded = call.recorded(Digest::of(text.as_bytes()), end);
        Self { number: call.number, output, error, recorded }
    }
}

/// The result of a skill, as the program gets it.
#[derive(Debug)]
pub(crate) struct ExecutedSkill {
    pub(crate) run: Option<RunId>,
    /// The result, or what the program is told instead.
    pub(crate) value: Result<JsonText, String>,
    /// True if it was not executed.
    pub(crate) is_refused: bool,
}

impl ExecutedSkill {
    /// It was not executed, for this reason.
    pub(crate) fn refused(reason: &impl ToString) -> Self {
        Self { run: None, value: Err(reason.to_string()), is_refused: true }
    }
}

impl ServerReply {
    /// The answer to the execution of a skill.
    pub(crate) fn of_skill(call: &BegunCall, executed: ExecutedSkill) -> Self {
        let ExecutedSkill { run, value, is_refused } = executed;
        let end = match (&value, is_refused) {
            (Ok(_), _) => ToolCallEnd::Answered,
            (Err(_), false) => ToolCallEnd::Failed,
            (Err(_), true) => ToolCallEnd::Refused,
        };
        let (output, error) =
            value.map_or_else(|error| (None, Some(error)), |output| (Some(output), None));
        let text = error.as_deref().or(output.as_ref().map(JsonText::as_str)).unwrap_or_default();
        let recorded = call.recorded(Digest::of(text.as_bytes()), end);
        let recorded = RecordedToolCall { run_id: run, ..recorded };
        Self { number: call.number, output, error, recorded }
    }
}

/// What is known of a call while it is made.
#[derive(Debug, Clone)]
pub(crate) struct BegunCall {
    number: u32,
    id: String,
    tool: String,
    arguments: Digest,
    approved_by: Option<String>,
}

impl BegunCall {
    pub(crate) fn of(ServerCall { number, id, call, approved_by, .. }: &ServerCall) -> Self {
        let arguments = Digest::of(call.arguments.as_str().as_bytes());
        let (id, tool, approved_by) = (id.clone(), call.name.clone(), approved_by.clone());
        Self { number: *number, id, tool, arguments, approved_by }
    }

    /// The answer to the call if nobody has waited for that of its server.
    pub(crate) fn cut_off(&self) -> ServerReply {
        let recorded = self.recorded(Digest::of(CUT_OFF.as_bytes()), ToolCallEnd::Failed);
        let error = Some(CUT_OFF.to_owned());
        ServerReply { number: self.number, output: None, error, recorded }
    }

    fn recorded(&self, result: Digest, end: ToolCallEnd) -> RecordedToolCall {
        let Self { id, tool, arguments, approved_by, .. } = self.clone();
        RecordedToolCall { id, tool, arguments, result, end, approved_by, run_id: None }
    }
}

/// The decision about one call.
#[derive(Debug)]
pub(super) enum Decision {
    No,
    Yes,
    /// Yes, with other arguments.
    Changed(Box<RawValue>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangedCall {
    arguments: Box<RawValue>,
}

impl Decision {
    /// The decision that this output of an answer is; `None` if it is something else.
    pub(super) fn of(output: Option<&RawValue>) -> Option<Self> {
        match output?.get() {
            "true" => Some(Self::Yes),
            "false" => Some(Self::No),
            changed => {
                let changed: ChangedCall = serde_json::from_str(changed).ok()?;
                Some(Self::Changed(changed.arguments))
            }
        }
    }
}

/// Refuses an answer of the wrong form to a request of this kind.
pub(super) fn ensure_answers(
    kind: AskedKind,
    index: usize,
    AnswerParam { output, error, .. }: &AnswerParam,
) -> Result<(), ParamsError> {
    let place = |member: &str| format!("answers[{index}]{member}");
    let output = output.as_deref();
    if output.is_some() && error.is_some() {
        return Err(ParamsError::wrong(&place(""), "an `output` or an `error`", "both"));
    }
    let expected = match kind {
        AskedKind::Input if output.is_some_and(|output| Sort::of(output) != Sort::Text) => {
            "a string: the request is for a line of text"
        }
        AskedKind::Approval if error.is_none() && Decision::of(output).is_none() => {
            "`true`, `false` or an object with changed `arguments`: the request is for an approval"
        }
        AskedKind::Tool | AskedKind::Input | AskedKind::Approval => return Ok(()),
    };
    Err(ParamsError::wrong(&place(".output"), expected, "other JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u32) -> ServerCall {
        let arguments: JsonText = serde_json::from_str(r#"{"a":1}"#).unwrap();
        let call = ToolRequest { name: "s.find".to_owned(), arguments };
        let (id, listed) = (format!("c1-r{number}"), Digest::of(b"find"));
        ServerCall { number, id, listed, call, approved_by: Some("ops".to_owned()) }
    }

    #[test]
    fn answers_and_errors_reach_the_program_and_records() {
        let begun = BegunCall::of(&call(4));
        let value: JsonText = serde_json::from_str("[1]").unwrap();
        let answer = ToolAnswer { value: value.into_raw(), is_error: false };
        let reply = ServerReply::of(&begun, Ok(answer));
        assert_eq!((reply.number, reply.error.as_deref()), (4, None));
        assert_eq!(reply.output.unwrap().as_str(), "[1]");
        let expected = RecordedToolCall {
            id: "c1-r4".to_owned(),
            tool: "s.find".to_owned(),
            arguments: Digest::of(br#"{"a":1}"#),
            result: Digest::of(b"[1]"),
            end: ToolCallEnd::Answered,
            approved_by: Some("ops".to_owned()),
            run_id: None,
        };
        assert_eq!(reply.recorded, expected);
        let text: JsonText = serde_json::from_str(r#""out of paper""#).unwrap();
        let answer = ToolAnswer { value: text.into_raw(), is_error: true };
        let failed = ServerReply::of(&begun, Ok(answer));
        assert_eq!(failed.error.as_deref(), Some("out of paper"));
        assert_eq!(failed.recorded.end, ToolCallEnd::Failed);
        assert_eq!(failed.recorded.result, Digest::of(b"out of paper"));
        let unknown = ToolError::Unknown { tool: "s.find".to_owned() };
        let refused = ServerReply::of(&begun, Err(unknown));
        assert_eq!(refused.error.as_deref(), Some("there is no tool `s.find`"));
        assert_eq!(refused.recorded.end, ToolCallEnd::Refused);
    }
}
