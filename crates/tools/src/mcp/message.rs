//! Messages of the protocol: JSON-RPC, in which arguments and results stay text.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::fault::{Fault, told};

/// The revisions of the protocol that are spoken, the preferred one first.
pub(crate) const REVISIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Longest id of a request that is answered, in bytes.
const MAX_ID: usize = 256;

/// Longest name of a revision that a message repeats, in bytes.
const MAX_REVISION: usize = 40;

/// A message of a server.
#[derive(Debug)]
pub(crate) enum Message<'a> {
    /// The answer to a request. `id` is `None` if it is no number of ours.
    Answer { id: Option<u64>, outcome: Result<&'a RawValue, McpRefusal> },
    /// The tools have changed.
    ListChanged,
    /// A request of the server. The id is text of JSON.
    Request { id: &'a str, method: Cow<'a, str> },
    /// A message that needs no action.
    Other,
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpRefusal {
    pub(crate) code: i64,
    /// All of it: the values of secrets in it are covered before it is shortened.
    pub(crate) message: String,
}

impl From<McpRefusal> for Fault {
    fn from(refusal: McpRefusal) -> Self {
        Self::Refused { code: refusal.code, message: refusal.message }
    }
}

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct IncomingError<'a> {
    #[serde(default)]
    code: i64,
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

/// Reads one message.
pub(crate) fn read(bytes: &[u8]) -> Result<Message<'_>, Fault> {
    let malformed = |_| Fault::broken("its server sent something that is no message");
    let message: Incoming<'_> = serde_json::from_slice(bytes).map_err(malformed)?;
    let Incoming { id, method, result, error } = message;
    if let Some(method) = method {
        return Ok(match id {
            Some(id) if id.get().len() <= MAX_ID => Message::Request { id: id.get(), method },
            None if method == "notifications/tools/list_changed" => Message::ListChanged,
            Some(_) | None => Message::Other,
        });
    }
    let outcome = match (result, error) {
        (Some(result), None) => Ok(result),
        (None, Some(error)) => {
            let error = serde_json::from_str(error.get()).ok();
            let IncomingError { code, message } =
                error.unwrap_or(IncomingError { code: 0, message: Cow::Borrowed("an error") });
            Err(McpRefusal { code, message: message.into_owned() })
        }
        _ => return Err(Fault::broken("its server sent something that is no message")),
    };
    Ok(Message::Answer { id: id.and_then(|id| id.get().parse().ok()), outcome })
}

#[derive(Serialize)]
struct Outgoing<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: &'a RawValue,
}

/// A request, in one line.
pub(crate) fn request(id: u64, method: &str, params: &RawValue) -> Result<String, Fault> {
    written(&Outgoing { jsonrpc: "2.0", id: Some(id), method, params })
}

/// A notification, in one line.
pub(crate) fn notification(method: &str, params: &RawValue) -> Result<String, Fault> {
    written(&Outgoing { jsonrpc: "2.0", id: None, method, params })
}

/// The answer to a request of a server: that it is alive, or that nothing else is done for it.
pub(crate) fn answer_to(id: &str, method: &str) -> String {
    let id = id.replace(['\n', '\r'], " ");
    match method {
        "ping" => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"not offered"}}}}"#
        ),
    }
}

/// A line break in JSON is space between its signs: within strings it is escaped.
fn written(message: &Outgoing<'_>) -> Result<String, Fault> {
    let text = serde_json::to_string(message).map_err(|_error| unwritable())?;
    Ok(text.replace(['\n', '\r'], " "))
}

fn unwritable() -> Fault {
    Fault::broken("the request cannot be written as JSON")
}

/// Parameters as JSON.
pub(crate) fn params(value: &impl Serialize) -> Result<Box<RawValue>, Fault> {
    to_raw_value(value).map_err(|_error| unwritable())
}

/// The parameters of the first request of a session.
pub(crate) fn initialize() -> Result<Box<RawValue>, Fault> {
    let [preferred, ..] = REVISIONS;
    let text = format!(
        r#"{{"protocolVersion":"{preferred}","capabilities":{{}},"clientInfo":{{"name":"wardian","version":"{}"}}}}"#,
        env!("CARGO_PKG_VERSION")
    );
    RawValue::from_string(text).map_err(|_error| unwritable())
}

/// Reads the answer to it: the revision of the session.
pub(crate) fn agreed_revision(result: &RawValue) -> Result<&'static str, Fault> {
    #[derive(Deserialize)]
    struct Initialized<'a> {
        #[serde(borrow, rename = "protocolVersion")]
        revision: Cow<'a, str>,
    }
    let malformed = |_| Fault::broken("its server began no session of the protocol");
    let initialized: Initialized<'_> = serde_json::from_str(result.get()).map_err(malformed)?;
    let known = REVISIONS.into_iter().find(|known| *known == initialized.revision);
    known.ok_or_else(|| {
        let revision = initialized.revision;
        if revision.len() > MAX_REVISION {
            return Fault::broken("its server speaks another revision of the protocol");
        }
        let revision = told(&revision);
        Fault::broken(format!("its server speaks the revision `{revision}` of the protocol"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let answer = read(br#"{"jsonrpc":"2.0","id":7,"result":{"a":[1]}}"#).unwrap();
        let Message::Answer { id: Some(7), outcome: Ok(result) } = answer else { panic!() };
        assert_eq!(result.get(), r#"{"a":[1]}"#);
        let refused = read(br#"{"id":"7","error":{"code":-32602,"message":"no\nsuch"}}"#).unwrap();
        let Message::Answer { id: None, outcome: Err(refusal) } = refused else { panic!() };
        assert_eq!((refusal.code, refusal.message.as_str()), (-32602, "no\nsuch"));
        let changed = br#"{"method":"notifications/tools/list_changed"}"#;
        assert!(matches!(read(changed).unwrap(), Message::ListChanged));
        assert!(matches!(read(br#"{"method":"x"}"#).unwrap(), Message::Other));
        let asked = read(br#"{"id":"a","method":"ping"}"#).unwrap();
        let Message::Request { id, method } = asked else { panic!() };
        assert_eq!(answer_to(id, &method), r#"{"jsonrpc":"2.0","id":"a","result":{}}"#);
        for wrong in ["", "[]", "{}", "{\"id\":1}", "{\"id\":1,\"result\":1,\"error\":{}}", "null"]
        {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let deep = format!("{{\"id\":1,\"result\":{}", "[".repeat(1 << 20));
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_message_is_one_line() {
        let params = RawValue::from_string("{\n\"a\":\r\n\"\\n\"}".to_owned()).unwrap();
        let text = request(3, "tools/call", &params).unwrap();
        assert_eq!(
            text,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{ "a":  "\n"}}"#
        );
    }

    #[test]
    fn known_revisions_are_agreed_on() {
        let answer = |revision: &str| {
            let text = format!(r#"{{"protocolVersion":"{revision}","capabilities":{{}}}}"#);
            agreed_revision(&RawValue::from_string(text).unwrap()).is_ok()
        };
        assert!(answer("2025-06-18") && !answer("1999-01-01") && !answer(&"1".repeat(999)));
        assert!(initialize().unwrap().get().contains("2025-11-25"));
    }
}
