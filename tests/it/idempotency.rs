//! Calls with an `idempotency_key`: executed once and only once, whatever happens to the answer.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// Takes a while, and never has the same result twice.
const SLOW: &str = "
import time, os
from runtime import blobs

def main(args):
    blobs.write_text('begun ' + os.urandom(8).hex())
    time.sleep(args.get('seconds', 1))
    return os.urandom(16).hex()
";

fn call(code: &str, key: &str, args: &Value) -> Value {
    json!({"language": "python", "code": code, "idempotency_key": key, "args": args})
}

/// The ids of the tenant's runs that have records.
fn recorded(client: &Client) -> usize {
    client.get("/v1/runs?limit=1000").json()["runs"].as_array().unwrap().len()
}

fn active(client: &Client) -> Vec<Value> {
    client.get("/v1/runs/active").json()["runs"].as_array().unwrap().clone()
}

#[test]
fn calls_that_are_repeated_have_the_first_answer() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &["--workers", "2"]);
    let client = server.client();
    let slow = call(SLOW, "report", &json!({}));
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let (client, slow) = (client.clone(), slow.clone());
            thread::spawn(move || client.call("run_code", slow).unwrap())
        })
        .collect();
    let answers: Vec<Value> = calls.into_iter().map(|call| call.join().unwrap()).collect();
    assert_eq!(output(&answers[0])["result"].as_str().unwrap().len(), 32);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(recorded(&client), 1, "it was executed more than once");
    assert_eq!(client.call("run_code", slow.clone()).unwrap(), answers[0]);
    // Another call with this name is refused, of whatever method.
    for (method, params) in [
        ("run_code", call(SLOW, "report", &json!({"seconds": 2}))),
        ("run_code", call("1", "report", &json!({}))),
        ("execute_skill", json!({"name": "text.word_count", "idempotency_key": "report"})),
        ("create_blob", json!({"content": "a", "kind": "text/plain", "idempotency_key": "report"})),
    ] {
        let refusal = client.refusal(method, params);
        assert!(
            ["invalid_params", "skill_not_found"].contains(&refusal.kind.as_str()),
            "{refusal:?}"
        );
    }
    // A detached call with the same content is the same call.
    let mut detached = slow.clone();
    detached["detach"] = true.into();
    let known = client.call("run_code", detached).unwrap();
    assert_eq!((&known["run_id"], &known["status"]), (&answers[0]["run_id"], &json!("ended")));
    drop(server);
    let server = TestServer::start_on(&data, &["--workers", "2", "--set", "limits.timeout=9 s"]);
    assert_eq!(server.client().call("run_code", slow).unwrap(), answers[0]);
    // A program that fails has ended as well.
    let fails = call("raise ValueError('no')", "fails", &json!({}));
    let first = server.client().call("run_code", fails.clone()).unwrap();
    assert_eq!(first["error"]["type"], "ValueError");
    assert_eq!(server.client().call("run_code", fails).unwrap(), first);
}

#[test]
fn a_run_whose_client_leaves_goes_on_and_its_result_is_there() {
    let server = TestServer::start(&["--workers", "1"]);
    let client = server.client();
    let slow = call(SLOW, "left", &json!({"seconds": 2}));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": slow}).to_string();
    let mut connection = server.connect();
    let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    connection.send(format!("{head}Content-Length: {}\r\n\r\n{request}", request.len()));
    eventually(PATIENCE, || (!active(&client).is_empty()).then_some(()));
    drop(connection);
    let answer = client.call("run_code", slow).unwrap();
    assert_eq!(output(&answer)["result"].as_str().unwrap().len(), 32);
    assert_eq!(recorded(&client), 1);
}

#[test]
fn a_crash_in_between_is_told_and_nothing_is_executed_again() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &["--workers", "1"]);
    let client = server.client();
    let slow = call(SLOW, "crash", &json!({"seconds": 100}));
    let params = json!({"limits": {"timeout_ms": 200_000}});
    let mut slow = slow;
    slow.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": slow}).to_string();
    let mut connection = server.connect();
    let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    connection.send(format!("{head}Content-Length: {}\r\n\r\n{request}", request.len()));
    eventually(PATIENCE, || {
        active(&client).first().is_some_and(|run| run["status"] == "running").then_some(())
    });
    server.process().kill();
    server.wait();
    let server = TestServer::start_on(&data, &["--workers", "1"]);
    let client = server.client();
    for _ in 0..2 {
        let answer = client.call("run_code", slow.clone()).unwrap();
        assert_eq!(
            (&answer["status"], &answer["error"]["type"]),
            (&json!("failed"), &json!("SandboxCrash"))
        );
    }
    assert_eq!((recorded(&client), active(&client).len()), (1, 0));
}

#[test]
fn a_call_that_was_refused_can_come_again() {
    let settings =
        ["--workers", "1", "--set", "workers.queue=1", "--set", "workers.queue_wait=1 s"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let sleeps =
        json!({"language": "python", "code": "import time\ntime.sleep(100)", "detach": true});
    let first = client.call("run_code", sleeps).unwrap()["run_id"].as_str().unwrap().to_owned();
    eventually(PATIENCE, || {
        active(&client).first().is_some_and(|run| run["status"] == "running").then_some(())
    });
    // It waits for longer than a call may.
    let refused = client.refusal("run_code", call("7", "again", &json!({})));
    assert_eq!(refused.kind, "overloaded");
    assert_eq!(client.post_to(&format!("/v1/runs/{first}/cancel")).status, 200);
    let answer = client.call("run_code", call("7", "again", &json!({}))).unwrap();
    assert_eq!(output(&answer)["result"], 7);
    let without = TestServer::start(&["--set", "records.enabled=false"]);
    for (method, params) in [
        ("run_code", call("7", "a", &json!({}))),
        ("create_blob", json!({"content": "a", "kind": "text/plain", "idempotency_key": "a"})),
    ] {
        let refusal = without.client().refusal(method, params);
        assert_eq!(refusal.kind, "invalid_params");
        assert!(refusal.message.contains("`idempotency_key` must be omitted"), "{refusal:?}");
    }
}

#[test]
fn the_name_of_a_blob_stays_with_its_content() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let blob = |content: &str| json!({"content": content, "kind": "text/plain", "idempotency_key": "upload-1"});
    let first = client.call("create_blob", blob("one")).unwrap();
    assert_eq!(client.call("create_blob", blob("one")).unwrap(), first);
    let refusal = client.refusal("create_blob", blob("two"));
    assert_eq!(refusal.kind, "invalid_params");
    let other_kind = json!({"content": "one", "kind": "text/csv", "idempotency_key": "upload-1"});
    assert_eq!(client.refusal("create_blob", other_kind).kind, "invalid_params");
    let run = call("1", "upload-1", &json!({}));
    assert_eq!(client.refusal("run_code", run).kind, "invalid_params");
}
