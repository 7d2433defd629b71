//! JSON-RPC over the wire: accepted and refused requests, batches and notifications.

use serde_json::{Value, json};

use crate::support::{Client, TestServer, output};

const CALL: &str = r#"{"jsonrpc":"2.0","id":7,"method":"load_skills_protocol_guide"}"#;

fn client() -> Client {
    TestServer::shared().client()
}

/// A run of code that returns `args["a"]`.
fn run_with_args(args: &str) -> String {
    let params = format!(
        r#"{{"language":"python","code":"def main(args): return args['a']","args":{args}}}"#
    );
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"run_code","params":{params}}}"#)
}

#[test]
fn a_body_with_more_than_one_meaning_is_refused() {
    for (body, code, kind) in [
        ("", -32700, "parse_error"),
        (" ", -32700, "parse_error"),
        ("{", -32700, "parse_error"),
        ("{}{}", -32700, "parse_error"),
        ("{'a': 1}", -32700, "parse_error"),
        ("[1,]", -32700, "parse_error"),
        ("NaN", -32700, "parse_error"),
        ("\u{feff}{}", -32700, "parse_error"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#, -32700, "parse_error"),
        ("null", -32600, "invalid_request"),
        ("\"text\"", -32600, "invalid_request"),
        ("{}", -32600, "invalid_request"),
        ("[]", -32600, "invalid_request"),
        (r#"{"id":1,"method":"list_skills"}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"1.0","id":1,"method":"list_skills"}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"list_skills"}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"list_skills","extra":1}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"list_skills","id":2}"#, -32600, "invalid_request"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no_such_method"}"#, -32601, "method_not_found"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"list_skills","params":[]}"#,
            -32602,
            "invalid_params",
        ),
    ] {
        let answer = client().post(body);
        let (found_code, found_kind, _) = answer.error();
        let array_or_object = found_code == -32600 && body.contains("\"params\":[]");
        assert!(
            (found_code, found_kind.as_str()) == (code, kind) || array_or_object,
            "{body}: {answer:?}"
        );
        assert_eq!(answer.status, 200, "{body}");
        assert_eq!(answer.header("content-type"), "application/json", "{body}");
    }
    let (code, kind, id) = client().post(b"{\"id\": \"\xff\"}").error();
    assert_eq!((code, kind.as_str(), id), (-32700, "parse_error", Value::Null));
}

#[test]
fn a_member_that_appears_twice_is_named_wherever_it_is() {
    for (args, place) in [
        (r#"{"a":1,"a":2}"#, "params.args.a"),
        (r#"{"a":{"b":1,"b":1}}"#, "params.args.a.b"),
        (r#"{"a":[{"b":1,"\u0062":2}]}"#, "b"),
    ] {
        let answer = client().post(run_with_args(args));
        let (code, kind, id) = answer.error();
        assert_eq!((code, kind.as_str(), id), (-32600, "invalid_request", json!(7)), "{args}");
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains(place) && message.contains("twice"), "{message}");
    }
}

#[test]
fn arguments_nest_as_deep_as_the_limit_and_no_deeper() {
    // The body, its parameters and the arguments are three of the 64 levels.
    let nested = |depth| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    let deepest = client().post(run_with_args(&nested(61))).json();
    assert_eq!(output(&deepest["result"])["result"].to_string(), "[".repeat(61) + &"]".repeat(61));
    for depth in [62, 1_000, 1_000_000] {
        let (code, kind, _) = client().post(run_with_args(&nested(depth))).error();
        assert_eq!((code, kind.as_str()), (-32700, "parse_error"), "{depth}");
    }
}

#[test]
fn a_number_that_would_change_on_the_way_is_refused() {
    for number in ["18446744073709551616", "-9223372036854775809", "1e999"] {
        let (code, kind, _) = client().post(run_with_args(&format!(r#"{{"a":{number}}}"#))).error();
        assert_eq!((code, kind.as_str()), (-32600, "invalid_request"), "{number}");
    }
    for number in ["18446744073709551615", "-9223372036854775808", "0.1"] {
        let body = client().post(run_with_args(&format!(r#"{{"a":{number}}}"#))).body;
        let body = String::from_utf8(body).unwrap();
        assert!(body.contains(&format!(r#""output":{{"result":{number}}}"#)), "{body}");
    }
}

#[test]
fn an_id_comes_back_as_it_was_sent() {
    for id in ["0", "-1", "18446744073709551615", "\"\"", "\"é\"", "null"] {
        let body = CALL.replace("\"id\":7", &format!("\"id\":{id}"));
        let answer = String::from_utf8(client().post(body).body).unwrap();
        assert!(answer.contains(&format!("\"id\":{id},")), "{id}: {answer:.100}");
    }
    for id in ["1.5", "true", "{}", &format!("\"{}\"", "x".repeat(257))] {
        let body = CALL.replace("\"id\":7", &format!("\"id\":{id}"));
        let (code, _, returned) = client().post(body).error();
        assert_eq!((code, returned), (-32600, Value::Null), "{id}");
    }
}

#[test]
fn a_notification_runs_nothing_and_has_no_answer() {
    let client = client();
    let params = json!({"content": "a notification made this", "kind": "text/plain"});
    let silent = json!({"jsonrpc": "2.0", "method": "create_blob", "params": params});
    for body in [silent.to_string(), json!([silent, silent]).to_string()] {
        let answer = client.post(body);
        assert_eq!((answer.status, answer.body.len()), (204, 0));
    }
    // The id follows from the content: what another store calls it is not in this one.
    let other = TestServer::start(&[]);
    let id = other.client().create_text("a notification made this", "text/plain");
    assert_eq!(client.refusal("read_blob", json!({"blob_id": id})).kind, "blob_not_found");
}

#[test]
fn a_batch_is_answered_in_its_order_whatever_each_call_does() {
    let run = |id: &str, code: &str| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "run_code",
            "params": {"language": "python", "code": code},
        })
    };
    let batch = json!([
        run("slow", "import time\ndef main(args):\n    time.sleep(0.2)\n    return 'slow'"),
        7,
        {"jsonrpc": "2.0", "method": "list_skills"},
        run("fails", "1 / 0"),
        {"jsonrpc": "2.0", "id": "wrong", "method": "list_skills", "params": {"limit": 0}},
        run("quick", "def main(args): return 'quick'"),
    ]);
    let answer = client().post(batch.to_string());
    assert_eq!(answer.status, 200);
    let answers = answer.json();
    let ids: Vec<_> = answers.as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["slow", null, "fails", "wrong", "quick"]));
    assert_eq!(answers[0]["result"]["output"]["result"], "slow");
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[2]["result"]["error"]["type"], "ZeroDivisionError");
    assert_eq!(answers[3]["error"]["data"]["parameter"], "limit");
    assert_eq!(answers[4]["result"]["output"]["result"], "quick");
}

#[test]
fn a_batch_has_at_most_32_calls() {
    let most = client().post(format!("[{}]", [CALL; 32].join(","))).json();
    assert!(most.as_array().unwrap().iter().all(|answer| answer["result"].is_object()));
    assert_eq!(most.as_array().unwrap().len(), 32);
    let (code, kind, id) = client().post(format!("[{}]", [CALL; 33].join(","))).error();
    assert_eq!((code, kind.as_str(), id), (-32600, "invalid_request", Value::Null));
}
