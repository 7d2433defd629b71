//! The JSON-RPC 2.0 envelope: parses the bytes of a body into calls or precise refusals.
//!
//! Knows no method: a call is a name and the text of its parameters.
//!
//! INVARIANT(same-id): every answer, also an error, has the id of its call as it was sent. The id
//! is null if the body does not have exactly one valid id.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::protocol::error_codes::WireError;
use crate::protocol::members::{Members, Sort, string};
use crate::protocol::request_id::{MAX_ID, RequestId};
use crate::protocol::response::{ErrorBody, Response};
use crate::protocol::strict::{self, RootKind, StrictError};
use crate::protocol::wording::shortened;

/// Maximum number of calls of one batch by default. Without a cap one body could order a hundred
/// thousand runs.
pub const DEFAULT_BATCH_MAX: usize = 32;

const MEMBERS: [&str; 4] = ["jsonrpc", "id", "method", "params"];

/// One well-formed call. Its method and parameters are not checked yet.
#[derive(Debug)]
pub struct Call<'a> {
    /// The call's id; `None` for a notification, which gets no answer and executes nothing.
    pub id: Option<RequestId>,
    /// Name of the method.
    pub method: Cow<'a, str>,
    /// The text of the parameters' object, if there is one. For a notification it may be
    /// anything.
    pub params: Option<&'a RawValue>,
}

/// The calls of a body.
#[derive(Debug)]
pub enum IncomingCalls<'a> {
    /// One call.
    Single(Call<'a>),
    /// Calls in their order; answers keep it.
    Batch(Vec<Result<Call<'a>, RefusedCall>>),
}

/// A body, or one entry of a batch, that is not a call.
#[derive(Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// The id to answer with.
    pub id: RequestId,
    /// The problem.
    pub error: EnvelopeError,
}

impl RefusedCall {
    /// The response that tells the client.
    #[must_use]
    pub fn into_response<R>(self) -> Response<R> {
        Response { id: self.id, outcome: Err(self.error.body()) }
    }
}

/// The reason why a body, or one entry of a batch, is not a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The body is not JSON, or JSON with two meanings.
    #[error(transparent)]
    Json(#[from] StrictError),
    /// The body is neither an object nor an array of objects.
    #[error("a request is an object with the members `jsonrpc`, `id`, `method` and `params`")]
    NotAnObject,
    /// The batch is `[]`.
    #[error("a batch must contain at least one call")]
    EmptyBatch,
    /// More calls than one batch may hold.
    #[error("a batch may contain at most {limit} calls, this one has {count}")]
    BatchTooLong {
        /// The number of calls.
        count: usize,
        /// The highest allowed number.
        limit: usize,
    },
    /// A member that a request does not have.
    #[error("`{name}` is not a member of a request: `jsonrpc`, `id`, `method` and `params` are")]
    UnknownMember {
        /// The name as sent, shortened.
        name: String,
    },
    /// A member that is missing or has a wrong value.
    #[error("`{member}` must be {expected}")]
    WrongMember {
        /// The member.
        member: &'static str,
        /// The expected value.
        expected: &'static str,
    },
    /// `params` is not an object.
    #[error("`params` must be an object: parameters are given by name only")]
    ParamsNotByName,
}

impl EnvelopeError {
    /// The row of the wire table for this error.
    #[must_use]
    pub const fn wire(&self) -> WireError {
        match self {
            Self::Json(fault) if fault.is_syntax() => WireError::PARSE_ERROR,
            Self::ParamsNotByName => {
                WireError::of(wardian_vocabulary::error::ErrorKind::InvalidParams)
            }
            Self::Json(_)
            | Self::NotAnObject
            | Self::EmptyBatch
            | Self::BatchTooLong { .. }
            | Self::UnknownMember { .. }
            | Self::WrongMember { .. } => WireError::INVALID_REQUEST,
        }
    }

    /// The `error` member of the response.
    #[must_use]
    pub fn body(&self) -> ErrorBody {
        let body = ErrorBody::new(self.wire(), self.to_string());
        match self {
            Self::ParamsNotByName => body.with_parameter("params"),
            _ => body,
        }
    }
}

/// Reads a body of at most `batch_max` calls.
///
/// # Errors
///
/// The body as a whole is not a request. It gets one error response.
pub fn parse(body: &[u8], batch_max: usize) -> Result<IncomingCalls<'_>, RefusedCall> {
    let refused = |error| RefusedCall { id: RequestId::Null, error };
    let document = strict::read(body)
        .map_err(|fault| RefusedCall { id: id_of_refused(body, &fault), error: fault.into() })?;
    match document.root {
        RootKind::Scalar => Err(refused(EnvelopeError::NotAnObject)),
        RootKind::Array(0) => Err(refused(EnvelopeError::EmptyBatch)),
        RootKind::Array(count) if count > batch_max => {
            Err(refused(EnvelopeError::BatchTooLong { count, limit: batch_max }))
        }
        RootKind::Array(_) => serde_json::from_str::<Vec<&RawValue>>(document.text)
            .map(|entries| entries.into_iter().map(|entry| read_call(entry.get())).collect())
            .map(IncomingCalls::Batch)
            .or(Err(refused(EnvelopeError::NotAnObject))),
        RootKind::Object => read_call(document.text).map(IncomingCalls::Single),
    }
}

fn read_call(entry: &str) -> Result<Call<'_>, RefusedCall> {
    let Some(members) = Members::split(entry) else {
        return Err(RefusedCall { id: RequestId::Null, error: EnvelopeError::NotAnObject });
    };
    let id = members.find("id").map(read_id).transpose();
    let for_errors = id.as_ref().ok().cloned().flatten().unwrap_or(RequestId::Null);
    let refused = |error| Err(RefusedCall { id: for_errors.clone(), error });

    let known = |name: &str| MEMBERS.contains(&name);
    if let Some((name, _)) = members.0.iter().find(|(name, _)| !known(name)) {
        return refused(EnvelopeError::UnknownMember { name: shortened(name) });
    }
    if members.find("jsonrpc").and_then(string).as_deref() != Some("2.0") {
        let expected = "the string \"2.0\"";
        return refused(EnvelopeError::WrongMember { member: "jsonrpc", expected });
    }
    let id = match id {
        Ok(id) => id,
        Err(error) => return refused(error),
    };
    let Some(method) = members.find("method").and_then(string) else {
        let expected = "a string";
        return refused(EnvelopeError::WrongMember { member: "method", expected });
    };
    let params = members.find("params");
    let is_by_name = params.is_none_or(|params| Sort::of(params) == Sort::Object);
    if id.is_some() && !is_by_name {
        return refused(EnvelopeError::ParamsNotByName);
    }
    Ok(Call { id, method, params })
}

fn read_id(value: &RawValue) -> Result<RequestId, EnvelopeError> {
    let expected = "a string of at most 256 bytes, an integer or null";
    let wrong = EnvelopeError::WrongMember { member: "id", expected };
    match Sort::of(value) {
        Sort::Null => Ok(RequestId::Null),
        Sort::Text => string(value)
            .filter(|text| text.len() <= MAX_ID)
            .map(|text| RequestId::Text(text.into_owned()))
            .ok_or(wrong),
        Sort::Number => match (value.get().parse::<i64>(), value.get().parse::<u64>()) {
            (Ok(number), _) => Ok(RequestId::Integer(number.into())),
            (_, Ok(number)) => Ok(RequestId::Integer(number.into())),
            _ => Err(wrong),
        },
        Sort::Boolean | Sort::Array | Sort::Object => Err(wrong),
    }
}

/// Returns the id of a single call that is JSON but breaks another rule. It is null if the body has
/// two ids.
fn id_of_refused(body: &[u8], fault: &StrictError) -> RequestId {
    if fault.is_syntax() {
        return RequestId::Null;
    }
    let text = std::str::from_utf8(body).ok();
    let members = text.and_then(Members::split).unwrap_or_default();
    let mut ids = members.0.iter().filter(|member| member.0 == "id");
    match (ids.next(), ids.next()) {
        (Some((_, id)), None) => read_id(id).unwrap_or(RequestId::Null),
        _ => RequestId::Null,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn parse_text(body: &str) -> Result<IncomingCalls<'_>, RefusedCall> {
        parse(body.as_bytes(), DEFAULT_BATCH_MAX)
    }

    fn single(body: &str) -> Call<'_> {
        match parse_text(body) {
            Ok(IncomingCalls::Single(call)) => call,
            other => panic!("{body}: {other:?}"),
        }
    }

    /// The responses to a body in which no call is answered by a method.
    fn refusals(body: &str) -> Value {
        let answer =
            |refusal: RefusedCall| serde_json::to_value(refusal.into_response::<()>()).unwrap();
        match parse_text(body) {
            Err(refusal) => answer(refusal),
            Ok(IncomingCalls::Single(call)) => panic!("{body}: {call:?}"),
            Ok(IncomingCalls::Batch(entries)) => {
                entries.into_iter().filter_map(Result::err).map(answer).collect()
            }
        }
    }

    fn code_and_id(body: &str) -> (i64, Value) {
        let answer = refusals(body);
        (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())
    }

    #[test]
    fn a_call_is_read_as_it_was_sent() {
        let call = single(r#"{"jsonrpc":"2.0","id":"1","method":"a","params":{"x":[1, 2]}}"#);
        assert_eq!(call.id, Some(RequestId::Text("1".into())));
        assert_eq!(call.method, "a");
        assert_eq!(call.params.unwrap().get(), r#"{"x":[1, 2]}"#);
        let bare = single(" {\"method\":\"\\u0061\",\"id\":0,\"jsonrpc\":\"\\u0032.0\"}\n");
        assert_eq!((bare.method.as_ref(), bare.params.is_none()), ("a", true));
    }

    #[test]
    fn same_id_comes_back() {
        let long = format!("\"{}\"", "i".repeat(MAX_ID));
        for id in [
            "null",
            "0",
            "-1",
            "9007199254740993",
            "18446744073709551615",
            "-9223372036854775808",
            "\"\"",
            "\"é \\n\"",
            "\"1\"",
            &long,
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
            let response = Response::<()> {
                id: single(&body).id.unwrap(),
                outcome: Err(ErrorBody::new(WireError::METHOD_NOT_FOUND, "")),
            };
            let echoed = serde_json::to_string(&response).unwrap();
            assert!(echoed.contains(&format!("\"id\":{id},")), "{id} came back in {echoed}");
        }
    }

    #[test]
    fn same_id_comes_back_with_an_error() {
        for (body, code, id) in [
            (r#"{"jsonrpc":"2.0","id":"a","method":"x","params":[1]}"#, -32602, json!("a")),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x","params":"p"}"#, -32602, json!("a")),
            (r#"{"jsonrpc":"2.0","id":"a","method":"x","params":null}"#, -32602, json!("a")),
            (r#"{"jsonrpc":"1.0","id":7,"method":"x"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":2.0,"id":7,"method":"x"}"#, -32600, json!(7)),
            (r#"{"id":7,"method":"x"}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":["x"]}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","extra":1}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"result":1}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1,"a":2}}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":1e999}}"#, -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":7,"method":"x","method":"y"}"#, -32600, json!(7)),
        ] {
            assert_eq!(code_and_id(body), (code, id), "{body}");
        }
    }

    #[test]
    fn an_id_that_cannot_be_trusted_is_answered_with_null() {
        let long = format!("\"{}\"", "i".repeat(MAX_ID + 1));
        for id in ["1.5", "1.0", "1e2", "{}", "[]", "true", "18446744073709551616", &long] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
            assert_eq!(code_and_id(&body), (-32600, Value::Null), "{id}");
        }
        let twice = r#"{"jsonrpc":"2.0","id":1,"method":"x","id":2}"#;
        assert_eq!(code_and_id(twice), (-32600, Value::Null));
        assert_eq!(code_and_id(r#"{"jsonrpc":"2.0","id":1"#), (-32700, Value::Null));
    }

    #[test]
    fn a_call_without_id_is_a_notification() {
        for body in [
            r#"{"jsonrpc":"2.0","method":"execute_skill","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"update","params":[1,2,3]}"#,
            r#"{"jsonrpc":"2.0","method":"foobar"}"#,
        ] {
            assert_eq!(single(body).id, None, "{body}");
        }
        assert_eq!(single(r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#).id, Some(RequestId::Null));
    }

    /// The examples of section 7 of the specification that need no method.
    #[test]
    fn the_examples_of_the_specification_are_answered_as_it_says() {
        let (broken, wrong) = ((-32700, Value::Null), (-32600, Value::Null));
        let unclosed = r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#;
        assert_eq!(code_and_id(unclosed), broken);
        assert_eq!(code_and_id(r#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#), wrong);
        let unclosed_batch = r#"[
            {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},
            {"jsonrpc": "2.0", "method" ]"#;
        assert_eq!(code_and_id(unclosed_batch), broken);
        assert_eq!(code_and_id("[]"), wrong);
        for (batch, count) in [("[1]", 1), ("[1,2,3]", 3), ("[[]]", 1), (r#"[{"foo": "boo"}]"#, 1)]
        {
            let answers = refusals(batch);
            assert_eq!(answers.as_array().unwrap().len(), count);
            for answer in answers.as_array().unwrap() {
                assert_eq!(
                    (&answer["error"]["code"], &answer["id"]),
                    (&json!(-32600), &Value::Null)
                );
            }
        }
    }

    #[test]
    fn a_batch_keeps_its_order_and_its_good_calls() {
        let body = r#"[{"jsonrpc":"2.0","id":1,"method":"a"},7,
            {"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"b","params":[]},
            {"jsonrpc":"2.0","id":3,"method":"c"}]"#;
        let Ok(IncomingCalls::Batch(entries)) = parse_text(body) else { panic!("no batch") };
        let seen: Vec<String> = entries
            .iter()
            .map(|entry| match entry {
                Ok(call) => call.method.to_string(),
                Err(refusal) => refusal.error.wire().code.to_string(),
            })
            .collect();
        assert_eq!(seen, ["a", "-32600", "n", "-32602", "c"]);
    }

    #[test]
    fn a_batch_beyond_its_cap_is_one_error() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#;
        let batch = |count: usize| format!("[{}]", vec![call; count].join(","));
        assert!(
            matches!(parse(batch(3).as_bytes(), 3), Ok(IncomingCalls::Batch(calls)) if calls.len() == 3)
        );
        let refusal = parse(batch(4).as_bytes(), 3).unwrap_err();
        assert_eq!(refusal.error, EnvelopeError::BatchTooLong { count: 4, limit: 3 });
        assert_eq!(code_and_id(&batch(100_000)), (-32600, Value::Null));
    }

    #[test]
    fn refusals_name_what_is_wrong() {
        for (body, message) in [
            ("", "the body is empty"),
            ("7", "a request is an object with the members `jsonrpc`, `id`, `method` and `params`"),
            ("[]", "a batch must contain at least one call"),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","x\n`y":1}"#,
                "`x\\n'y` is not a member of a request: `jsonrpc`, `id`, `method` and `params` are",
            ),
            (r#"{"id":1,"method":"x"}"#, "`jsonrpc` must be the string \"2.0\""),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
                "`id` must be a string of at most 256 bytes, an integer or null",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":{"b":1,"b":2}}}"#,
                "member `params.a.b` appears twice",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"n":[36893488147419103232]}}"#,
                "the number at `params.n[0]` does not fit into 64 bits; send it as a string",
            ),
        ] {
            assert_eq!(refusals(body)["error"]["message"], message, "{body}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_refusal_at_most(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Err(refusal) = parse(&bytes, DEFAULT_BATCH_MAX) {
                prop_assert_eq!(refusal.error.wire().http_status, 200);
            }
        }

        #[test]
        fn any_members_give_an_answer_with_their_id(
            id in any::<i64>(), name in "jsonrpc|method|params|result|x[a-z]{0,2}", value in "1|\"2\\.0\"|\\[\\]|\\{\\}|null",
        ) {
            let body = format!("{{\"id\":{id},\"{name}\":{value}}}");
            match parse_text(&body) {
                Ok(IncomingCalls::Single(call)) => prop_assert_eq!(call.id, Some(RequestId::Integer(id.into()))),
                Ok(IncomingCalls::Batch(_)) => prop_assert!(false, "an object is no batch"),
                Err(refusal) => prop_assert_eq!(refusal.id, RequestId::Integer(id.into())),
            }
        }
    }
}
