//! What a cell asks of the caller of its session: tools that the call has declared, and lines of text.
//!
//! The requests come from a program, and name what it likes: the gateway checks that a tool was declared.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::job::few::at_most;
use wardian_vocabulary::ids::is_tool_name;

/// Maximum number of requests with which one turn of a cell ends. The program's others come with the
/// next one.
pub const MAX_ROUND: usize = 256;

/// Most bytes of the requests of one turn, as JSON.
pub const MAX_ROUND_BYTES: usize = 1 << 20;

/// Longest arguments of one call of a tool, in bytes of JSON. Larger values belong in a blob.
pub const MAX_TOOL_ARGUMENTS: usize = 256 << 10;

/// Longest request that is told while its program goes on, in bytes of JSON. A longer one comes with the
/// end of the turn.
pub const MAX_TOLD_REQUEST: usize = MAX_TOOL_ARGUMENTS + (1 << 10);

/// Longest prompt, in bytes.
pub const MAX_PROMPT: usize = 16 << 10;

/// A value as JSON text, which nothing parses on its way.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JsonText(Box<RawValue>);

impl JsonText {
    /// The value that this text has.
    #[must_use]
    pub const fn new(text: Box<RawValue>) -> Self {
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The text as a value that nothing has parsed.
    #[must_use]
    pub fn raw(&self) -> &RawValue {
        &self.0
    }

    /// The text as a part of other JSON.
    #[must_use]
    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }
}

/// Compares the texts.
impl PartialEq for JsonText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for JsonText {}

/// Prints no text: it may hold anything and must not reach a log.
impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonText").field("len", &self.as_str().len()).finish()
    }
}

/// Something that a cell asks of its caller: a tool or a line of text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallerRequest {
    /// Its number among all requests of the session's program.
    pub number: u32,
    /// The call of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolRequest>,
    /// Otherwise a line of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<LineRequest>,
}

/// A call of a tool.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRequest {
    /// The name of the tool.
    pub name: String,
    /// Its arguments: an object.
    pub arguments: JsonText,
}

/// A line of text that somebody types.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineRequest {
    /// What it is asked for with.
    pub prompt: String,
    /// True if the line is not to be shown while it is typed.
    pub hidden: bool,
}

/// Prints no arguments.
impl fmt::Debug for ToolRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolRequest").field("arguments", &self.arguments).finish_non_exhaustive()
    }
}

/// Prints no prompt: it comes from the program.
impl fmt::Debug for LineRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineRequest").field("hidden", &self.hidden).finish_non_exhaustive()
    }
}

impl CallerRequest {
    /// Reads a request that a guest tells, which may be hostile.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let read =
            serde_json::from_str::<Self>(text).ok().filter(|_| text.len() <= MAX_TOLD_REQUEST);
        read.filter(Self::is_bounded)
    }

    /// True if it is one thing that is asked, with texts within their bounds.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        match (&self.tool, &self.input) {
            (Some(tool), None) => {
                let arguments = tool.arguments.as_str();
                is_tool_name(&tool.name)
                    && arguments.len() <= MAX_TOOL_ARGUMENTS
                    && arguments.starts_with('{')
            }
            (None, Some(line)) => line.prompt.len() <= MAX_PROMPT,
            _ => false,
        }
    }

    /// Bytes of its texts.
    fn length(&self) -> usize {
        let tool = self.tool.as_ref();
        let tool =
            tool.map_or(0, |tool| tool.arguments.as_str().len().saturating_add(tool.name.len()));
        tool.saturating_add(self.input.as_ref().map_or(0, |line| line.prompt.len()))
    }
}

/// The requests with which a turn of a cell ends: at least one, and each with a number of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallerRequests {
    /// The requests, in the order in which the program has made them.
    #[serde(deserialize_with = "few_requests")]
    pub all: Vec<CallerRequest>,
}

impl CallerRequests {
    /// Reads the report of a guest, which may be hostile.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        if text.len() > MAX_ROUND_BYTES + 2 {
            return None;
        }
        let read = serde_json::from_slice::<Self>(text).ok();
        read.filter(|requests| !requests.is_empty() && requests.is_bounded())
    }

    /// True if nothing is asked.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// True if they are few, with numbers that rise and texts within their bounds.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let mut pairs = self.all.iter().zip(self.all.iter().skip(1));
        self.all.len() <= MAX_ROUND
            && self.all.iter().all(CallerRequest::is_bounded)
            && pairs.all(|(one, next)| one.number < next.number)
            && self.all.iter().map(CallerRequest::length).fold(0, usize::saturating_add)
                <= MAX_ROUND_BYTES
    }
}

/// Reads a list of at most [`MAX_ROUND`] requests.
fn few_requests<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<CallerRequest>, D::Error> {
    at_most(MAX_ROUND, deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(number: u32, arguments: &str) -> String {
        format!(r#"{{"number":{number},"tool":{{"name":"crm/find","arguments":{arguments}}}}}"#)
    }

    fn read(requests: &[String]) -> Option<CallerRequests> {
        CallerRequests::read(format!("[{}]", requests.join(",")).as_bytes())
    }

    #[test]
    fn requests_are_read_as_they_were_written() {
        let input = r#"{"number":7,"input":{"prompt":"Name? ","hidden":true}}"#.to_owned();
        let requests = read(&[tool(3, r#"{"a": [1, 2]}"#), input]).unwrap();
        let called = requests.all[0].tool.as_ref().unwrap();
        assert_eq!(
            (called.name.as_str(), called.arguments.as_str()),
            ("crm/find", r#"{"a": [1, 2]}"#)
        );
        assert!(requests.all[1].input.as_ref().unwrap().hidden);
        let written = serde_json::to_vec(&requests).unwrap();
        assert_eq!(CallerRequests::read(&written), Some(requests));
    }

    #[test]
    fn what_no_runner_sends_is_not_read() {
        let long = |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length));
        assert!(read(&[tool(1, &long(MAX_TOOL_ARGUMENTS - 8))]).is_some());
        let rows = |count: u32| (0..count).map(|number| tool(number, "{}")).collect::<Vec<_>>();
        assert!(read(&rows(256)).is_some());
        for refused in [
            vec![],
            rows(257),
            vec![tool(1, &long(MAX_TOOL_ARGUMENTS - 7))],
            vec![tool(1, "[]")],
            vec![tool(1, "1")],
            vec![tool(2, "{}"), tool(2, "{}")],
            vec![tool(2, "{}"), tool(1, "{}")],
            vec![tool(1, "{}").replace("crm/find", "9")],
            vec![tool(1, "{}").replace("crm/find", "a b")],
            vec![r#"{"number":1}"#.to_owned()],
            vec![r#"{"number":-1,"input":{"prompt":"","hidden":false}}"#.to_owned()],
            vec![r#"{"number":1,"input":{"prompt":"","hidden":false},"x":1}"#.to_owned()],
            vec![format!(
                r#"{{"number":1,"input":{{"prompt":"{}","hidden":false}}}}"#,
                "x".repeat(MAX_PROMPT + 1)
            )],
        ] {
            assert_eq!(read(&refused), None, "{:.80}", refused.concat());
        }
        let many: Vec<String> =
            (0..5).map(|number| tool(number, &long(MAX_TOOL_ARGUMENTS - 9))).collect();
        assert_eq!(read(&many), None, "together they are too long");
    }

    #[test]
    fn texts_of_a_program_are_not_printed() {
        let requests = read(&[tool(1, r#"{"key":"hunter2"}"#)]).unwrap();
        assert!(!format!("{requests:?}").contains("hunter2"));
    }
}
