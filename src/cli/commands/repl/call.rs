//! One cell: the call of a server, the output while it runs, and its result.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read as _};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::cli::commands::blobs::Remote;
use crate::cli::commands::repl::events::{EventReader, ServerEvent};
use crate::cli::failed::Failed;
use wardian_vocabulary::ids::SessionId;

/// Maximum length of an answer without events, in bytes.
const MAX_ANSWER: u64 = 64 << 20;

/// The end of a call.
#[derive(Debug)]
pub(super) enum EndedCall {
    /// The cell was executed, completed or not.
    Executed(Box<CellResult>),
    /// The server has refused it.
    Refused {
        /// The stable label of the refusal.
        kind: String,
        message: String,
    },
}

/// The parts of a result that are shown.
#[derive(Debug, Deserialize)]
pub(super) struct CellResult {
    pub(super) status: String,
    pub(super) output: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) output_truncated: bool,
    #[serde(default)]
    pub(super) converted: Vec<Converted>,
    #[serde(default)]
    pub(super) logs_preview: String,
    pub(super) error: Option<CellError>,
    pub(super) session: Option<SessionAfter>,
    #[serde(default)]
    pub(super) display: Vec<BTreeMap<String, ShownForm>>,
    /// What the cell waits for, if it has not ended.
    #[serde(default)]
    pub(super) requests: Vec<AskedLine>,
}

/// A part of the value that JSON cannot hold.
#[derive(Debug, Deserialize)]
pub(super) struct Converted {
    pub(super) path: String,
}

/// The reason why a cell failed.
#[derive(Debug, Deserialize)]
pub(super) struct CellError {
    #[serde(rename = "type")]
    pub(super) error_type: String,
    pub(super) message: String,
    pub(super) traceback: Option<String>,
}

/// The session after a cell.
#[derive(Debug, Deserialize)]
pub(super) struct SessionAfter {
    pub(super) checkpoint: Option<String>,
    pub(super) state: String,
    pub(super) reason: Option<String>,
}

/// A form of an object that the cell displayed.
#[derive(Debug, Deserialize)]
pub(super) struct ShownForm {
    pub(super) text: Option<String>,
    pub(super) blob: Option<String>,
    pub(super) size: Option<u64>,
}

impl CellResult {
    pub(super) fn is_completed(&self) -> bool {
        self.status == "completed"
    }
}

/// What comes while a cell runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CellOutput {
    /// A piece of output.
    Text {
        /// True for everything but standard output.
        is_error: bool,
        text: String,
    },
    /// So many bytes were left out, because they were read too slowly.
    LeftOut(u64),
}

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    id: u32,
    method: &'static str,
    params: Params<'a>,
}

#[derive(Serialize)]
struct Params<'a> {
    language: &'static str,
    code: &'a str,
    session: SessionChoice<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a [LineAnswer]>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    abandon: bool,
}

/// What a call does in the session.
#[derive(Debug, Clone, Copy)]
pub(super) enum CellCall<'a> {
    /// Executes this code.
    Run(&'a str),
    /// Goes on with the cell that waits.
    Answer(&'a [LineAnswer]),
    /// Ends the cell that waits.
    Abandon,
}

/// The answer to a request of a cell.
#[derive(Debug, Serialize)]
pub(super) struct LineAnswer {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) output: Option<LineOutput>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<&'static str>,
}

/// What is typed for a request.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum LineOutput {
    /// A line of text.
    Line(String),
    /// The approval of a call.
    Approved(bool),
}

/// Something that a cell waits for.
#[derive(Debug, Deserialize)]
pub(super) struct AskedLine {
    pub(super) id: String,
    pub(super) kind: String,
    #[serde(default)]
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) hidden: bool,
    /// The tool, if it is about the call of one.
    #[serde(default)]
    pub(super) name: String,
    pub(super) arguments: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct SessionChoice<'a> {
    id: &'a SessionId,
}

#[derive(Deserialize)]
struct Response {
    result: Option<Box<CellResult>>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    message: String,
    data: Option<RpcErrorData>,
}

#[derive(Deserialize)]
struct RpcErrorData {
    kind: Option<String>,
}

#[derive(Deserialize)]
struct OutputEvent {
    stream: String,
    text: String,
}

#[derive(Deserialize)]
struct LeftOutEvent {
    bytes: u64,
}

/// Executes a cell or goes on with it, and hands on its output while it runs.
pub(super) fn run_cell(
    server: &Remote,
    session: &SessionId,
    cell: CellCall<'_>,
    shown: &mut dyn FnMut(CellOutput),
) -> Result<EndedCall, Failed> {
    let (code, answers, abandon) = match cell {
        CellCall::Run(code) => (code, None, false),
        CellCall::Answer(answers) => ("", Some(answers), false),
        CellCall::Abandon => ("", None, true),
    };
    let session = SessionChoice { id: session };
    let params = Params { language: "python", code, session, answers, abandon };
    let call = Call { jsonrpc: "2.0", id: 1, method: "run_code", params };
    let broken = |fault: io::Error| Failed::at("read the answer", &fault);
    let answer = server.call(&call)?;
    if !answer.has_events {
        let mut text = String::new();
        answer.content.take(MAX_ANSWER).read_to_string(&mut text).map_err(broken)?;
        return end_of(&text).ok_or_else(|| server.misread());
    }
    let mut events = EventReader::new(BufReader::new(answer.content));
    while let Some(ServerEvent { name, data }) = events.next().map_err(broken)? {
        if name == "response" {
            return end_of(&data).ok_or_else(|| server.misread());
        }
        if let Some(output) = output_of(&name, &data) {
            shown(output);
        }
    }
    Err(Failed::because(
        "the connection ended before the cell: whether it was executed is not known; `wardian \
         sessions show` lists the cells",
    ))
}

/// The end of a cell in the response to its call.
fn end_of(text: &str) -> Option<EndedCall> {
    let response: Response = serde_json::from_str(text).ok()?;
    if let Some(error) = response.error {
        let kind = error.data.and_then(|data| data.kind).unwrap_or_default();
        return Some(EndedCall::Refused { kind, message: error.message });
    }
    response.result.map(EndedCall::Executed)
}

/// The output in an event. Other events are not shown.
fn output_of(name: &str, data: &str) -> Option<CellOutput> {
    match name {
        "output" => {
            let OutputEvent { stream, text } = serde_json::from_str(data).ok()?;
            Some(CellOutput::Text { is_error: stream != "stdout", text })
        }
        "left_out" => {
            let LeftOutEvent { bytes } = serde_json::from_str(data).ok()?;
            Some(CellOutput::LeftOut(bytes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_its_kind_and_others_have_none() {
        let refused = |text: &str| match end_of(text) {
            Some(EndedCall::Refused { kind, message }) => (kind, message),
            other => panic!("{other:?}"),
        };
        let busy = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": 1008, "message": "it is busy",
                       "data": {"kind": "session_busy", "parameter": "session"}}}"#;
        assert_eq!(refused(busy), ("session_busy".to_owned(), "it is busy".to_owned()));
        let plain = r#"{"error": {"code": -32600, "message": "no"}}"#;
        assert_eq!(refused(plain), (String::new(), "no".to_owned()));
        for wrong in ["", "[]", "{}", "<html>", r#"{"result": {"status": 1}}"#] {
            assert!(end_of(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn output_is_told_apart_and_progress_is_not_shown() {
        let text =
            |is_error, text: &str| Some(CellOutput::Text { is_error, text: text.to_owned() });
        let out = r#"{"stream": "stdout", "text": "a\n"}"#;
        assert_eq!(output_of("output", out), text(false, "a\n"));
        let log = r#"{"stream": "log", "text": "b"}"#;
        assert_eq!(output_of("output", log), text(true, "b"));
        assert_eq!(output_of("left_out", r#"{"bytes": 7}"#), Some(CellOutput::LeftOut(7)));
        assert_eq!(output_of("progress", r#"{"done": 1}"#), None);
        assert_eq!(output_of("output", "{}"), None);
    }
}
