//! The body of an HTTP request: strict JSON, the JSON-RPC envelope, the parameters of a method.
//!
//! Beyond "no panic": what the strict reader accepts is what an ordinary reader accepts, with the
//! same meaning; an accepted call reads the same again after it was printed; a refusal is a
//! response that can be sent, and it carries an id of the body or none.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use wardian_formats::protocol::MethodCall;
use wardian_formats::protocol::envelope::{self, Call, IncomingCalls, RefusedCall};
use wardian_formats::protocol::request_id::{MAX_ID, RequestId};
use wardian_formats::protocol::strict::{self, StrictError};

const BATCH_MAX: usize = 8;

fuzz_target!(|body: &[u8]| {
    read_strictly(body);
    match envelope::parse(body, BATCH_MAX) {
        Ok(IncomingCalls::Single(call)) => check_call(&call),
        Ok(IncomingCalls::Batch(entries)) => {
            assert!((1..=BATCH_MAX).contains(&entries.len()));
            for entry in entries {
                match entry {
                    Ok(call) => check_call(&call),
                    Err(refusal) => check_refusal(refusal),
                }
            }
        }
        Err(refusal) => check_refusal(refusal),
    }
});

/// Compares the strict reader with an ordinary one.
fn read_strictly(body: &[u8]) {
    let ordinary = serde_json::from_slice::<Value>(body);
    match strict::read(body) {
        Ok(document) => {
            let value = ordinary.expect("accepted, but no JSON");
            let printed = serde_json::to_string(&value).unwrap();
            strict::read(printed.as_bytes()).expect("printed, and no longer accepted");
            let again: Value = serde_json::from_str(&printed).unwrap();
            assert!(is_same(&value, &again), "a value has two meanings");
            assert_eq!(document.text.as_bytes(), body);
        }
        Err(StrictError::TooDeep { .. }) => {}
        Err(fault) if fault.is_syntax() => {
            assert!(ordinary.is_err(), "refused as no JSON, but it is: {fault}");
        }
        Err(fault) => assert!(fault.to_string().len() < 2_000, "an endless message"),
    }
}

/// The same but for the last digits of fractions, which `serde_json` does not promise. Arguments
/// are passed on as the text they are, so nobody depends on them.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            (one - other).abs() <= one.abs() * 1e-15
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.keys().eq(other.keys())
                && one.values().zip(other.values()).all(|(one, other)| is_same(one, other))
        }
        _ => one == other,
    }
}

fn check_call(call: &Call<'_>) {
    if let Some(RequestId::Text(text)) = &call.id {
        assert!(text.len() <= MAX_ID);
    }
    if call.id.is_some()
        && let Some(params) = call.params
    {
        assert!(params.get().starts_with('{'), "parameters that are no object");
    }
    let method = match MethodCall::parse(&call.method, call.params) {
        Ok(checked) => checked.method().to_owned(),
        Err(error) => {
            let answer = serde_json::to_string(&error.body()).unwrap();
            assert!(answer.len() < 8_000, "an endless answer: {answer}");
            call.method.clone().into_owned()
        }
    };
    assert_eq!(method, call.method, "another method was found");

    let printed = print(call);
    match envelope::parse(printed.as_bytes(), BATCH_MAX) {
        Ok(IncomingCalls::Single(again)) => {
            assert_eq!((&again.id, &again.method), (&call.id, &call.method));
            assert_eq!(
                again.params.map(|params| params.get()),
                call.params.map(|params| params.get())
            );
        }
        other => panic!("{printed} was read as {other:?}"),
    }
}

fn print(call: &Call<'_>) -> String {
    let mut text = "{\"jsonrpc\":\"2.0\"".to_owned();
    if let Some(id) = &call.id {
        text += &format!(",\"id\":{}", serde_json::to_string(id).unwrap());
    }
    text += &format!(",\"method\":{}", serde_json::to_string(&call.method).unwrap());
    if let Some(params) = call.params {
        text += &format!(",\"params\":{}", params.get());
    }
    text + "}"
}

fn check_refusal(refusal: RefusedCall) {
    let id = serde_json::to_value(&refusal.id).unwrap();
    let answer = serde_json::to_value(refusal.into_response::<()>()).unwrap();
    assert_eq!(answer["id"], id);
    assert!(answer["error"]["code"].as_i64().is_some_and(|code| code < 0));
    assert!(answer.to_string().len() < 8_000, "an endless answer");
}
