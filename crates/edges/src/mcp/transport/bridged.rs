//! What a bridge from the standard input to a server must know of a message: the headers that the
//! protocol wants besides it over HTTP.

use std::borrow::Cow;

use data_encoding::BASE64;
use serde_json::value::RawValue;

use crate::mcp::wire::envelope::MessageError;
use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::members::{Members, string};
use wardian_formats::protocol::response::{self, ErrorBody};
use wardian_formats::protocol::strict;
use wardian_vocabulary::error::ErrorKind;

/// The key of the revision in the metadata of a message, since 2026-07-28.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";

/// A message on its way to a server.
#[derive(Debug, PartialEq, Eq)]
pub struct BridgedMessage {
    /// The id of a request as JSON; `None` for a notification or a response.
    pub id: Option<String>,
    /// The id of the request that the message gives up, as JSON.
    pub gives_up: Option<String>,
    /// The revision of the protocol that the message names.
    pub revision: Option<String>,
    /// True for the first request of the revisions before 2026-07-28.
    pub is_first: bool,
    /// Further headers.
    pub headers: Vec<(&'static str, String)>,
}

impl BridgedMessage {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// The answer to bytes that are not a message.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let refused = |error: MessageError| answer_with("null", error.body());
        let text = strict::read(bytes).map_err(|fault| refused(fault.into()))?.text;
        let members = Members::split(text).ok_or_else(|| refused(MessageError::NotAnObject))?;
        let method = members.find("method").and_then(string);
        let id = members.find("id").filter(|_| method.is_some());
        let params = members.find("params").map(RawValue::get).and_then(Members::split);
        let params = params.unwrap_or_default();
        let named = |name: &str| params.find(name).and_then(string).map(Cow::into_owned);
        let meta = params.find("_meta").map(RawValue::get).and_then(Members::split);
        let revision = meta.unwrap_or_default().find(REVISION).and_then(string);
        let is_first = method.as_deref() == Some("initialize");
        let first_revision = is_first.then(|| named("protocolVersion")).flatten();
        let mut headers = Vec::new();
        if let Some(method) = &method {
            headers.push(("mcp-method", method.clone().into_owned()));
            let name = match method.as_ref() {
                "tools/call" | "prompts/get" => named("name"),
                "resources/read" => named("uri"),
                "tasks/get" | "tasks/update" | "tasks/cancel" => named("taskId"),
                _ => None,
            };
            headers.extend(name.map(|name| ("mcp-name", header_text(&name))));
        }
        let is_cancelled = method.as_deref() == Some("notifications/cancelled");
        let gives_up = is_cancelled.then(|| params.find("requestId")).flatten();
        Ok(Self {
            id: id.map(|id| id.get().to_owned()),
            gives_up: gives_up.map(|id| id.get().to_owned()),
            revision: revision.map(Cow::into_owned).or(first_revision),
            is_first,
            headers,
        })
    }
}

/// The answer to a request, or to something that is none, with an error of this kind.
#[must_use]
pub fn refusal(id: &str, kind: ErrorKind, message: &str) -> String {
    answer_with(id, ErrorBody::new(WireError::of(kind), message))
}

/// An answer for the request with this id: a server that refuses a request before it reads it
/// answers with the id of nobody, for which the client would wait in vain.
#[must_use]
pub fn addressed<'a>(answer: &'a str, id: &str) -> Cow<'a, str> {
    let members = Members::split(answer).unwrap_or_default();
    let is_to_nobody = members.find("id").is_none_or(|id| id.get() == "null");
    match members.find("error") {
        Some(error) if is_to_nobody => {
            Cow::Owned(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, error.get()))
        }
        _ => Cow::Borrowed(answer),
    }
}

/// The revision that a server has chosen, in its answer to the first request.
#[must_use]
pub fn chosen_revision(answer: &str) -> Option<String> {
    let members = Members::split(answer)?;
    let result = members.find("result").map(RawValue::get).and_then(Members::split)?;
    result.find("protocolVersion").and_then(string).map(Cow::into_owned)
}

fn answer_with(id: &str, body: ErrorBody) -> String {
    use wardian_formats::protocol::request_id::RequestId;

    let id = serde_json::from_str::<&RawValue>(id).ok();
    let refusal = response::Response::<()> { id: RequestId::Null, outcome: Err(body) };
    let text = serde_json::to_string(&refusal).unwrap_or_default();
    match id {
        Some(id) => text.replacen("\"id\":null", &format!("\"id\":{}", id.get()), 1),
        None => text,
    }
}

/// A text as the value of a header: in base64 if it has other characters than those of ASCII.
fn header_text(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    if is_plain && text.trim() == text && !text.starts_with("=?base64?") {
        return text.to_owned();
    }
    format!("=?base64?{}?=", BASE64.encode(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_headers_that_the_protocol_wants() {
        let call = r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"é","arguments":{},
            "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
        let read = BridgedMessage::read(call.as_bytes()).unwrap();
        assert_eq!(
            (read.id.as_deref(), read.revision.as_deref()),
            (Some("\"a\""), Some("2026-07-28"))
        );
        let name = ("mcp-name", "=?base64?w6k=?=".to_owned());
        assert_eq!(read.headers, [("mcp-method", "tools/call".to_owned()), name]);
        let first = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
        let read = BridgedMessage::read(first.as_bytes()).unwrap();
        assert!(read.is_first && read.revision.as_deref() == Some("2025-11-25"));
        let cancelled =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let read = BridgedMessage::read(cancelled.as_bytes()).unwrap();
        assert_eq!((read.id, read.gives_up.as_deref()), (None, Some("7")));
    }

    #[test]
    fn a_refusal_to_nobody_is_one_of_the_request() {
        let refusal =
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no \"id\":null"},"id":null}"#;
        let ours =
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32000,"message":"no \"id\":null"}}"#;
        assert_eq!(addressed(refusal, "\"a\""), ours);
        assert_eq!(addressed(r#"{"error":{}}"#, "7"), r#"{"jsonrpc":"2.0","id":7,"error":{}}"#);
        for other in
            [r#"{"id":1,"error":{}}"#, r#"{"id":null,"result":{}}"#, r#"{"method":"a"}"#, "[]"]
        {
            assert_eq!(addressed(other, "7"), other);
        }
    }

    #[test]
    fn what_is_no_message_is_answered() {
        for (text, said) in [("{", "-32700"), ("[]", "-32600"), ("{\"a\":1,\"a\":2}", "-32600")] {
            let answer = BridgedMessage::read(text.as_bytes()).unwrap_err();
            assert!(answer.contains(said) && answer.contains("\"id\":null"), "{answer}");
        }
        let answer = refusal("\"x\"", ErrorKind::Internal, "no server");
        assert!(answer.starts_with(r#"{"jsonrpc":"2.0","id":"x","error""#), "{answer}");
    }

    #[test]
    fn the_revision_of_a_server_is_in_its_first_answer() {
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(chosen_revision(answer).as_deref(), Some("2025-06-18"));
        assert_eq!(chosen_revision("{}"), None);
    }
}
