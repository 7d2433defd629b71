//! The tool `session`.

use serde_json::{Value, json};

use crate::mcp::speaker::{ask, call};
use crate::support::TestServer;

/// The result of a call that has to succeed, as programs get it.
fn done(server: &TestServer, arguments: Value) -> Value {
    let answer = call(server, "session", arguments);
    assert_ne!(answer["isError"], true, "{answer:#}");
    let text = answer["content"][0]["text"].as_str().unwrap();
    let structured = answer["structuredContent"].clone();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
    structured
}

/// The kind and the message of a refusal.
fn refused(server: &TestServer, arguments: Value) -> (String, String) {
    let answer = call(server, "session", arguments);
    assert_eq!(answer["isError"], true, "{answer:#}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&answer["_meta"]["wardian/error"]["kind"]), text(&answer["content"][0]["text"]))
}

fn cell(server: &TestServer, id: &str, code: &str) -> Value {
    let arguments = json!({"language": "python", "code": code, "session": id});
    call(server, "run_code", arguments)["structuredContent"].clone()
}

#[test]
fn a_model_forks_restores_and_closes_its_sessions() {
    let server = TestServer::start(&[]);
    let first = cell(&server, "new", "x = 1");
    let (id, checkpoint) = (&first["session"]["id"], &first["session"]["checkpoint"]);
    let id = id.as_str().unwrap();
    cell(&server, id, "x = 2");
    let list = done(&server, json!({"action": "list"}));
    assert_eq!((&list["sessions"][0]["id"], &list["usage"]["sessions"]), (&json!(id), &json!(1)));
    let shown = done(&server, json!({"action": "show", "id": id}));
    assert_eq!((&shown["cells"], &shown["checkpoints"][0]["id"]), (&json!(2), checkpoint));
    assert_eq!(shown, server.client().get(&format!("/v1/sessions/{id}")).json());
    let order = json!({"action": "fork", "id": id, "checkpoint": checkpoint, "count": 2});
    let forks = done(&server, order)["forks"].clone();
    let forks: Vec<&str> =
        forks.as_array().unwrap().iter().map(|fork| fork["id"].as_str().unwrap()).collect();
    assert_eq!(forks.len(), 2);
    for fork in forks {
        assert_eq!(cell(&server, fork, "x")["output"]["result"], 1);
    }
    assert_eq!(cell(&server, id, "x")["output"]["result"], 2);
    let restored = done(&server, json!({"action": "restore", "id": id, "checkpoint": checkpoint}));
    assert_eq!(&restored["checkpoint"], checkpoint);
    assert_eq!(cell(&server, id, "x")["output"]["result"], 1);
    let interrupted = done(&server, json!({"action": "interrupt", "id": id}));
    assert_eq!(interrupted, json!({"interrupted": false}), "no call is running");
    assert_eq!(done(&server, json!({"action": "close", "id": id})), json!({"closed": true}));
    let (kind, message) = refused(&server, json!({"action": "show", "id": id}));
    assert_eq!(kind, "session_not_found", "{message}");
}

#[test]
fn wrong_calls_are_refused_and_say_what_is_missing() {
    let server = TestServer::shared();
    for (arguments, said) in [
        (json!({"action": "show"}), "`id` is missing"),
        (json!({"action": "restore", "id": "ses_x"}), "`checkpoint` is missing"),
        (json!({"action": "list", "count": 2}), "`count` must be omitted with this `action`"),
        (json!({"action": "open"}), "`list`, `show`, `fork`, `restore`, `interrupt` or `close`"),
    ] {
        let (kind, message) = refused(server, arguments);
        assert_eq!(kind, "invalid_params", "{message}");
        assert!(message.contains(said), "{message}");
    }
    let (kind, _) = refused(server, json!({"action": "close", "id": "ses_x"}));
    assert_eq!(kind, "session_not_found");
}

#[test]
fn an_operator_turns_the_tool_off() {
    for setting in ["mcp.session_tool=false", "sessions.enabled=false"] {
        let server = TestServer::start(&["--set", setting]);
        let list = ask(&server, "tools/list", json!({}));
        let tools = list.result()["tools"].as_array().unwrap();
        assert!(tools.iter().all(|tool| tool["name"] != "session"), "{setting}");
        let params = json!({"name": "session", "arguments": {"action": "list"}});
        let answer = ask(&server, "tools/call", params);
        assert_eq!(answer.response()["error"]["code"], -32602, "{setting}");
    }
}
