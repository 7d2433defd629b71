//! Cells that wait in the middle of a call: how many a tenant has, and how they end.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, Watched, eventually, output};

const LONG: Duration = Duration::from_secs(60);

/// Asks in the middle of a call.
const ASK: &str = "def ask(prompt=''):\n    return input(prompt)\n";

/// The id of a new session that has `ask`.
fn begin(client: &Client, order: &Value) -> String {
    let made = client.post_json("/v1/sessions", order);
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    output(&cell(client, &id, &format!("x = 1\n{ASK}")));
    id
}

fn cell(client: &Client, session: &str, code: &str) -> Value {
    client.run_with(code, json!({"session": session}))
}

/// The only request of a cell that waits.
fn request_of(waiting: &Value) -> String {
    assert_eq!(waiting["status"], "waiting", "{waiting:#}");
    waiting["requests"][0]["id"].as_str().unwrap().to_owned()
}

fn answer(client: &Client, session: &str, request: &str) -> Value {
    let answers = json!([{"id": request, "output": "Ada"}]);
    client.run_with("", json!({"session": session, "answers": answers}))
}

/// The refusal of a call without code.
fn refusal(client: &Client, session: &str, more: &Value) -> (String, String) {
    let mut params = json!({"language": "python", "code": "", "session": session});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let refused = client.refusal("run_code", params);
    (refused.kind, refused.message)
}

fn answer_to(request: &str) -> Value {
    json!({"answers": [{"id": request, "output": "Ada"}]})
}

fn shown(client: &Client, session: &str) -> Value {
    client.get(&format!("/v1/sessions/{session}")).json()
}

fn last_cell(client: &Client, session: &str) -> Value {
    let cells = client.get(&format!("/v1/sessions/{session}/cells")).json();
    cells["cells"].as_array().unwrap().last().unwrap().clone()
}

#[test]
fn a_cell_whose_interpreter_is_lost_ends_with_its_output_and_frees_its_session() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let id = begin(&client, &json!({}));
    let request = request_of(&cell(&client, &id, "x = 2\nprint('before')\nask()"));
    assert_eq!(shown(&client, &id)["is_warm"], true);
    server.workers().iter().for_each(Watched::kill);
    // Nobody has called meanwhile.
    let ended = eventually(LONG, || {
        let cell = last_cell(&client, &id);
        (cell["state"] == "rolled_back").then_some(cell)
    });
    assert_eq!(ended["result"]["logs_preview"], "before\n", "{ended:#}");
    let reason = &ended["result"]["session"]["reason"];
    assert_eq!(reason, "its interpreter was lost while it waited");
    assert_eq!(shown(&client, &id)["is_warm"], false);
    let (kind, message) = refusal(&client, &id, &answer_to(&request));
    assert_eq!(kind, "session_conflict");
    assert!(message.contains("cell 2") && message.contains("interpreter was lost"), "{message}");
    assert_eq!(output(&cell(&client, &id, "x"))["result"], 1);
    // It is the same for a call that comes at once.
    request_of(&cell(&client, &id, "x = 3\nask()"));
    server.workers().iter().for_each(Watched::kill);
    let next = eventually(LONG, || {
        let params = json!({"language": "python", "code": "x", "session": id});
        client.call("run_code", params).ok()
    });
    assert_eq!(output(&next)["result"], 1);
}

#[test]
fn answers_after_a_restart_are_told_that_the_cell_was_rolled_back() {
    let place = Command::new();
    let data = place.folder().join("data");
    let (id, request) = {
        let server = TestServer::start_on(&data, &[]);
        let client = server.client();
        let id = begin(&client, &json!({}));
        let request = request_of(&cell(&client, &id, "x = 2\nask()"));
        // Until they have ended, they keep the data folder.
        let workers = server.workers();
        server.process().kill();
        server.wait();
        assert!(workers.iter().all(|worker| worker.ends_within(LONG)));
        (id, request)
    };
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let (kind, message) = refusal(&client, &id, &answer_to(&request));
    assert_eq!(kind, "session_conflict");
    assert!(message.contains("rolled back") && message.contains("restarted"), "{message}");
    let cells = client.get(&format!("/v1/sessions/{id}/cells")).json();
    let reason = cells["cells"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("the server stopped"), "{reason}");
    assert_eq!(output(&cell(&client, &id, "x"))["result"], 1);
    // Answers that were given reach nothing either.
    let (_, message) = refusal(&client, &id, &answer_to("c3-r1"));
    assert!(message.contains("given before"), "{message}");
}

#[test]
fn a_tenant_has_a_part_of_the_workers_for_its_cells_and_older_ones_wait_on() {
    // Of four workers that may be set apart, three can hold cells, and two those of one tenant.
    let server = TestServer::start(&["--set", "sessions.warm=4"]);
    let client = server.client();
    let ids = [(); 3].map(|()| begin(&client, &json!({})));
    let [first, second, third] = ids.each_ref().map(String::as_str);
    let requests = [first, second].map(|id| request_of(&cell(&client, id, "ask()")));
    let refused = cell(&client, third, "x = 2\nprint('before')\nask()");
    assert_eq!(refused["session"]["state"], "rolled_back", "{refused:#}");
    let reason = refused["session"]["reason"].as_str().unwrap();
    assert!(reason.contains("as many cells") && reason.contains("`await`"), "{reason}");
    assert_eq!(refused["logs_preview"], "before\n");
    assert_eq!(output(&cell(&client, third, "x"))["result"], 1);
    // One that waits again keeps its place.
    let again = answer(&client, first, &requests[0]);
    assert_eq!(output(&again)["result"], "Ada");
    let both = request_of(&cell(&client, third, "[ask(), ask()]"));
    let both = request_of(&answer(&client, third, &both));
    let refused = cell(&client, first, "ask()");
    assert_eq!(refused["session"]["state"], "rolled_back", "{refused:#}");
    assert_eq!(output(&answer(&client, third, &both))["result"], json!(["Ada", "Ada"]));
    assert_eq!(output(&answer(&client, second, &requests[1]))["result"], "Ada");
}

#[test]
fn a_session_that_expires_ends_its_cell_and_frees_the_worker() {
    let server = TestServer::start(&["--set", "sessions.warm=1"]);
    let client = server.client();
    let expires = begin(&client, &json!({"idle_ms": 3_000}));
    let request = request_of(&cell(&client, &expires, "ask()"));
    let other = begin(&client, &json!({}));
    let refused = cell(&client, &other, "ask()");
    assert_eq!(refused["session"]["state"], "rolled_back", "{refused:#}");
    // The other one has its place when it has ended.
    let waiting = eventually(LONG, || {
        thread::park_timeout(Duration::from_millis(500));
        let cell = cell(&client, &other, "ask()");
        (cell["status"] == "waiting").then_some(cell)
    });
    let (kind, _) = refusal(&client, &expires, &answer_to(&request));
    assert_eq!(kind, "session_expired");
    assert_eq!(output(&answer(&client, &other, &request_of(&waiting)))["result"], "Ada");
}

#[test]
fn a_cell_whose_answers_are_under_way_is_not_abandoned() {
    let client = TestServer::shared().client();
    let id = begin(&client, &json!({}));
    let code = "import time\nx = 2\nask()\ntime.sleep(3)\nx";
    let request = request_of(&cell(&client, &id, code));
    thread::scope(|scope| {
        let answered = scope.spawn(|| answer(&client, &id, &request));
        eventually(LONG, || (!shown(&client, &id)["run_id"].is_null()).then_some(()));
        let (kind, message) = refusal(&client, &id, &json!({"abandon": true}));
        assert_eq!(kind, "session_busy", "{message}");
        assert_eq!(output(&answered.join().unwrap())["result"], 2);
    });
    assert_eq!(output(&cell(&client, &id, "x"))["result"], 2);
    client.delete(&format!("/v1/sessions/{id}"));
}
