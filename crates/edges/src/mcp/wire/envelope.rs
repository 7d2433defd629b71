//! Reads a message of a client, and cuts the arguments of a tool out of it.
//!
//! INVARIANT(small-rest): what is left of a message for the protocol library is at most
//! [`MAX_REST`] long, has one meaning, and is nested no deeper than a call of `/rpc` may be.

use std::borrow::Cow;

use serde_json::value::RawValue;

use wardian_formats::protocol::error_codes::WireError;
use wardian_formats::protocol::members::{Members, Sort, string};
use wardian_formats::protocol::request_id::{MAX_ID, RequestId};
use wardian_formats::protocol::response::ErrorBody;
use wardian_formats::protocol::strict::{self, RootKind, StrictError};
use wardian_vocabulary::units::ByteCount;

/// Maximum number of bytes of a message besides the arguments of a tool. The protocol library makes
/// a tree of it.
pub(crate) const MAX_REST: usize = 16 << 10;

/// Maximum memory of the tree of a rest, as a multiple of its size: an object with one short name
/// takes some ninety times the memory of its text.
const TREE_FACTOR: usize = 128;

/// Memory of the tasks and channels by which the protocol library handles one message.
const OF_A_MESSAGE: usize = 16 << 10;

/// Maximum memory that the protocol library takes for a rest of this length.
pub(crate) fn memory_of(rest: usize) -> ByteCount {
    rest.saturating_mul(TREE_FACTOR).saturating_add(OF_A_MESSAGE).into()
}

/// The method that calls a tool.
pub(crate) const CALL: &str = "tools/call";

/// A message, and what was cut out of it.
#[derive(Debug)]
pub(crate) struct CutMessage {
    /// The message for the protocol library: JSON of at most [`MAX_REST`] bytes.
    pub rest: Vec<u8>,
    pub sort: MessageSort,
}

/// The sorts of messages that clients send.
#[derive(Debug)]
pub(crate) enum MessageSort {
    /// A request with this id.
    Request(RequestId, IncomingRequest),
    /// The client gives up a request of this id.
    Cancellation(RequestId),
    /// Any other notification.
    Notification,
    /// A response. This server sends no requests, so it is not needed.
    Response,
}

/// A request, as far as it must be known before the protocol library reads it.
#[derive(Debug)]
pub(crate) enum IncomingRequest {
    /// A call of this tool, with its arguments as the text of a JSON value.
    Call { tool: String, arguments: Option<Box<RawValue>> },
    /// The first request of the protocol's revisions before 2026-07-28.
    Initialize,
    /// Any other.
    Other,
}

/// A message that is refused.
#[derive(Debug)]
pub(crate) struct RefusedMessage {
    /// The id to answer with; `None` for what is not answered.
    pub id: RequestId,
    pub error: MessageError,
}

/// The reasons to refuse a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MessageError {
    /// Not JSON, or JSON with two meanings.
    #[error(transparent)]
    Json(#[from] StrictError),
    /// An array.
    #[error("a message is one object: this protocol has no batches")]
    Batch,
    /// Something else than an object.
    #[error("a message is an object with the members `jsonrpc`, `id`, `method` and `params`")]
    NotAnObject,
    /// A member that is missing or has a wrong value.
    #[error("`{member}` must be {expected}")]
    WrongMember { member: &'static str, expected: &'static str },
    /// Too much besides the arguments.
    #[error(
        "a message may have at most {MAX_REST} bytes besides `arguments`, this one has \
        {size}"
    )]
    TooLong { size: usize },
}

impl MessageError {
    /// The `error` member of the answer.
    pub(crate) fn body(&self) -> ErrorBody {
        let wire = match self {
            Self::Json(fault) if fault.is_syntax() => WireError::PARSE_ERROR,
            _ => WireError::INVALID_REQUEST,
        };
        ErrorBody::new(wire, self.to_string())
    }
}

/// Reads a message.
///
/// # Errors
///
/// The bytes are not a JSON-RPC message, have two meanings, or are too long besides the arguments.
pub(crate) fn cut(bytes: &[u8]) -> Result<CutMessage, RefusedMessage> {
    let unnamed = |error| RefusedMessage { id: RequestId::Null, error };
    let document = strict::read(bytes).map_err(|fault| unnamed(fault.into()))?;
    match document.root {
        RootKind::Object => {}
        RootKind::Array(_) => return Err(unnamed(MessageError::Batch)),
        RootKind::Scalar => return Err(unnamed(MessageError::NotAnObject)),
    }
    let members = Members::split(document.text).unwrap_or_default();
    let id = members.find("id").map(read_id).transpose().map_err(unnamed)?;
    let named = |error| RefusedMessage { id: id.clone().unwrap_or(RequestId::Null), error };
    if members.find("jsonrpc").and_then(string).as_deref() != Some("2.0") {
        let expected = "the string \"2.0\"";
        return Err(named(MessageError::WrongMember { member: "jsonrpc", expected }));
    }
    let Some(method) = members.find("method") else {
        if members.find("result").or_else(|| members.find("error")).is_some() {
            return Ok(CutMessage { rest: Vec::new(), sort: MessageSort::Response });
        }
        return Err(named(MessageError::WrongMember { member: "method", expected: "a string" }));
    };
    let Some(method) = string(method) else {
        return Err(named(MessageError::WrongMember { member: "method", expected: "a string" }));
    };
    let params = members.find("params");
    if params.is_some_and(|params| Sort::of(params) != Sort::Object) {
        return Err(named(MessageError::WrongMember { member: "params", expected: "an object" }));
    }
    let sort = sort_of(&method, id.clone(), params);
    let rest = rest_of(&members, params, method == CALL).map_err(named)?;
    Ok(CutMessage { rest, sort })
}

fn sort_of(method: &str, id: Option<RequestId>, params: Option<&RawValue>) -> MessageSort {
    let params = params.and_then(|params| Members::split(params.get())).unwrap_or_default();
    let Some(id) = id else {
        let cancelled = (method == "notifications/cancelled").then(|| params.find("requestId"));
        return match cancelled.flatten().map(read_id) {
            Some(Ok(id)) => MessageSort::Cancellation(id),
            _ => MessageSort::Notification,
        };
    };
    let request = match method {
        CALL => IncomingRequest::Call {
            tool: params.find("name").and_then(string).map(Cow::into_owned).unwrap_or_default(),
            arguments: params.find("arguments").map(ToOwned::to_owned),
        },
        "initialize" => IncomingRequest::Initialize,
        _ => IncomingRequest::Other,
    };
    MessageSort::Request(id, request)
}

/// Writes the message without the arguments of a tool.
fn rest_of(
    members: &Members<'_>,
    params: Option<&RawValue>,
    is_call: bool,
) -> Result<Vec<u8>, MessageError> {
    let inner = params.and_then(|params| Members::split(params.get())).unwrap_or_default();
    let is_cut = |name: &str| is_call && name == "arguments";
    let kept = || inner.0.iter().filter(|(name, _)| !is_cut(name));
    let of_one = |name: &str, value: &RawValue| name.len().saturating_add(value.get().len());
    let outer = members.0.iter().filter(|(name, _)| name != "params");
    let sizes = outer.clone().chain(kept()).map(|(name, value)| of_one(name, value));
    // Quotes, colons and commas, and names that have to be escaped.
    let size = sizes.map(|size| size.saturating_add(4)).fold(0, usize::saturating_add);
    if size > MAX_REST {
        return Err(MessageError::TooLong { size });
    }
    let mut rest = Vec::with_capacity(size.saturating_add(32));
    rest.push(b'{');
    for (name, value) in outer {
        push_member(&mut rest, name, value.get());
    }
    if params.is_some() {
        push_name(&mut rest, "params");
        rest.push(b'{');
        for (name, value) in kept() {
            push_member(&mut rest, name, value.get());
        }
        rest.push(b'}');
    }
    rest.push(b'}');
    Ok(rest)
}

fn push_member(text: &mut Vec<u8>, name: &str, value: &str) {
    push_name(text, name);
    text.extend_from_slice(value.as_bytes());
}

fn push_name(text: &mut Vec<u8>, name: &str) {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
    // Writing to a vector cannot fail.
    serde_json::to_writer(&mut *text, name).ok();
    text.push(b':');
}

fn read_id(value: &RawValue) -> Result<RequestId, MessageError> {
    let expected = "a string of at most 256 bytes or an integer";
    let wrong = MessageError::WrongMember { member: "id", expected };
    match Sort::of(value) {
        Sort::Text => string(value)
            .filter(|text| text.len() <= MAX_ID)
            .map(|text| RequestId::Text(text.into_owned()))
            .ok_or(wrong),
        Sort::Number => {
            let number = value.get().parse::<i64>();
            number.map(|number| RequestId::Integer(number.into())).map_err(|_not_an_integer| wrong)
        }
        Sort::Null | Sort::Boolean | Sort::Array | Sort::Object => Err(wrong),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn rest(message: &str) -> Value {
        serde_json::from_slice(&cut(message.as_bytes()).unwrap().rest).unwrap()
    }

    fn refusal(message: &str) -> (RequestId, i32, String) {
        let refused = cut(message.as_bytes()).unwrap_err();
        let body = refused.error.body();
        (refused.id, body.code, body.message)
    }

    #[test]
    fn arguments_are_cut_out_of_a_call_and_of_nothing_else() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call",
            "params":{"name":"run_code","_meta":{"progressToken":"p"},"arguments":{"x":[1.50,{}]}}}"#;
        assert_eq!(
            rest(call),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "run_code", "_meta": {"progressToken": "p"}}})
        );
        let Ok(CutMessage { sort: MessageSort::Request(id, request), .. }) = cut(call.as_bytes())
        else {
            panic!("no request");
        };
        assert_eq!(id, RequestId::Integer(1));
        let IncomingRequest::Call { tool, arguments } = request else { panic!("no call") };
        assert_eq!((tool.as_str(), arguments.unwrap().get()), ("run_code", r#"{"x":[1.50,{}]}"#));
        let other =
            r#"{"jsonrpc":"2.0","id":"a","method":"prompts/get","params":{"arguments":{"a":"b"}}}"#;
        assert_eq!(rest(other), serde_json::from_str::<Value>(other).unwrap());
    }

    #[test]
    fn the_sorts_of_messages_are_told_apart() {
        let sort = |message: &str| cut(message.as_bytes()).unwrap().sort;
        let cancelled =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        assert!(matches!(sort(cancelled), MessageSort::Cancellation(RequestId::Integer(7))));
        let other =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#;
        assert!(matches!(sort(other), MessageSort::Notification));
        let begun = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(sort(begun), MessageSort::Notification));
        let response = r#"{"jsonrpc":"2.0","id":3,"result":{"a":[[[[]]]]}}"#;
        assert!(matches!(sort(response), MessageSort::Response));
        let first = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        assert!(matches!(sort(first), MessageSort::Request(_, IncomingRequest::Initialize)));
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
        let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{deep}}}}}"#);
        let long = "x".repeat(MAX_REST);
        let long =
            format!(r#"{{"jsonrpc":"2.0","id":"i","method":"ping","params":{{"a":"{long}"}}}}"#);
        for (message, id, code, said) in [
            ("", RequestId::Null, -32700, "empty"),
            ("{", RequestId::Null, -32700, "byte 1"),
            ("[]", RequestId::Null, -32600, "batches"),
            ("7", RequestId::Null, -32600, "an object"),
            (&deep, RequestId::Null, -32700, "64 levels"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
                RequestId::Null,
                -32600,
                "twice",
            ),
            (r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, RequestId::Null, -32600, "`id`"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"a"}"#, RequestId::Null, -32600, "`id`"),
            (r#"{"id":4,"method":"a"}"#, RequestId::Integer(4), -32600, "`jsonrpc`"),
            (r#"{"jsonrpc":"2.0","id":4}"#, RequestId::Integer(4), -32600, "`method`"),
            (r#"{"jsonrpc":"2.0","id":4,"method":{}}"#, RequestId::Integer(4), -32600, "`method`"),
            (
                r#"{"jsonrpc":"2.0","id":4,"method":"a","params":[]}"#,
                RequestId::Integer(4),
                -32600,
                "`params`",
            ),
            (&long, RequestId::Text("i".into()), -32600, "besides `arguments`"),
        ] {
            let (found, number, text) = refusal(message);
            assert_eq!((found, number), (id, code), "{message:.80}: {text}");
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn small_rest_however_large_the_arguments_are() {
        let code = "x".repeat(1 << 20);
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"arguments":{{"code":"{code}"}},"name":"run_code"}}}}"#
        );
        assert!(cut(call.as_bytes()).unwrap().rest.len() < 100);
    }

    proptest! {
        #[test]
        fn a_rest_and_the_arguments_are_the_whole_message(
            name in any::<String>(),
            keys in proptest::collection::btree_map(any::<String>(), any::<i32>(), 0..8),
            arguments in proptest::collection::btree_map(any::<String>(), any::<String>(), 0..8),
        ) {
            let mut params = serde_json::Map::new();
            params.extend(keys.iter().map(|(key, value)| (key.clone(), json!(value))));
            params.insert("name".into(), json!(name));
            params.insert("arguments".into(), json!(arguments));
            let message = json!({"jsonrpc": "2.0", "id": "x", "method": CALL, "params": params});
            let cut = cut(message.to_string().as_bytes()).unwrap();
            let mut rest: Value = serde_json::from_slice(&cut.rest).unwrap();
            let MessageSort::Request(_, IncomingRequest::Call { tool, arguments }) = cut.sort else {
                panic!("no call");
            };
            prop_assert_eq!(&tool, &name);
            prop_assert!(rest["params"].get("arguments").is_none());
            rest["params"]["arguments"] = serde_json::from_str(arguments.unwrap().get()).unwrap();
            prop_assert_eq!(rest, message);
        }

        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(message) = cut(&bytes) {
                prop_assert!(message.rest.len() <= MAX_REST + 64);
            }
        }
    }
}
