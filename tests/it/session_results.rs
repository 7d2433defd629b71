//! What is kept of cells: results that are too long, cells whose caller leaves, and calls that wait for them.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Client, TestServer, Watched, eventually, output};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session whose code may call a tool.
struct Asking<'a> {
    client: &'a Client,
    id: String,
}

impl<'a> Asking<'a> {
    fn begin(client: &'a Client, code: &str) -> Self {
        let first = client.run_with(code, json!({"session": "new"}));
        output(&first);
        Self { client, id: first["session"]["id"].as_str().unwrap().to_owned() }
    }

    fn path(&self, what: &str) -> String {
        format!("/v1/sessions/{}{what}", self.id)
    }

    fn cell(&self, code: &str) -> Value {
        self.client.run_with(code, json!({"session": self.id, "tools": [{"name": "mail"}]}))
    }

    /// Runs a cell that has to wait.
    fn waits(&self, code: &str) {
        let waiting = self.cell(code);
        assert_eq!(waiting["session"]["state"], "waiting", "{waiting:#}");
    }

    fn answers(&self, id: &str) -> Value {
        json!({"session": self.id, "answers": [{"id": id, "output": 5}]})
    }

    /// The last cell, as it is kept.
    fn last(&self) -> Value {
        let cells = self.client.get(&self.path("/cells")).json();
        cells["cells"].as_array().unwrap().last().unwrap().clone()
    }

    /// The last cell of the notebook.
    fn last_in_notebook(&self) -> Value {
        let notebook = self.client.get(&self.path("/notebook")).json();
        notebook["cells"].as_array().unwrap().last().unwrap().clone()
    }

    /// Waits until the last cell is in this state, and returns it.
    fn until(&self, state: &str) -> Value {
        eventually(PATIENCE, || Some(self.last()).filter(|cell| cell["state"] == state))
    }

    /// Waits until a cell is running, and returns its run.
    fn until_it_runs(&self) -> String {
        eventually(PATIENCE, || {
            let session = self.client.get(&self.path("")).json();
            session["run_id"].as_str().map(str::to_owned)
        })
    }

    fn close(self) {
        assert_eq!(self.client.delete(&self.path("")).status, 204);
    }
}

/// A request with a body, as it is sent.
fn request(path: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_long_result_is_kept_without_its_longest_texts() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "x = 1");
    let code = "for n in range(5): display('ab'[n % 2] * 60000)\nprint('hello')\n7";
    assert_eq!(session.cell(code)["display"].as_array().unwrap().len(), 5, "the call has all");
    let kept = session.last()["result"].clone();
    assert_eq!((&kept["output"]["result"], &kept["logs_preview"]), (&json!(7), &json!("hello\n")));
    assert_eq!(kept["left_out"]["items"], 1, "{}", kept["left_out"]);
    let display = kept["display"].as_array().unwrap();
    let sentence = display[4]["text/plain"]["text"].as_str().unwrap();
    assert!(sentence.contains("bytes was not kept"), "{sentence:.200}");
    let outputs = session.last_in_notebook()["outputs"].clone();
    let said: Vec<&Value> = outputs.as_array().unwrap().iter().map(|one| &one["data"]).collect();
    let is_said =
        |one: &&Value| one["text/plain"].as_str().is_some_and(|text| text.contains("1 item of"));
    assert_eq!(said.into_iter().filter(is_said).count(), 1, "{outputs:.300}");

    // What is missing of a part is missing of the whole.
    session.waits(
        "for n in range(5): display('b' * 60000)\nprint('first')\ny = await tools.mail()\n\
         print('second')\ny",
    );
    let waiting = session.last();
    assert_eq!(
        (&waiting["state"], &waiting["result"]["left_out"]["items"]),
        (&json!("waiting"), &json!(1))
    );
    assert_eq!(waiting["result"]["requests"][0]["id"], "c3-r1");
    let answered = client.run_with("", session.answers("c3-r1"));
    assert_eq!(output(&answered)["result"], 5);
    let kept = session.last()["result"].clone();
    assert_eq!((&kept["left_out"]["items"], &kept["requests"]), (&json!(1), &Value::Null));
    assert_eq!(kept["logs_preview"], "first\nsecond\n");
    session.close();
}

#[test]
fn requests_are_kept_however_long_they_are() {
    let client = TestServer::shared().client();
    let session =
        Asking::begin(&client, "import asyncio\ndef ask(): return tools.mail.sync(a='z' * 200000)");
    session.waits(
        "for n in range(4): display('b' * 60000)\n\
         await asyncio.gather(*(tools.mail(a='z' * 200000) for n in range(4)))",
    );
    let result = session.last()["result"].clone();
    let requests = result["requests"].as_array().unwrap();
    assert_eq!((requests.len(), &result["left_out"]), (4, &Value::Null));
    assert_eq!(requests[3]["arguments"]["a"].as_str().unwrap().len(), 200_000);
    let answers: Vec<Value> =
        requests.iter().map(|request| json!({"id": request["id"], "output": 1})).collect();
    let answered = client.run_with("", json!({"session": session.id, "answers": answers}));
    assert_eq!(output(&answered)["result"], json!([1, 1, 1, 1]));
    // So are those of a cell that a worker holds, which the notebook shows as waiting, too.
    session.waits("for n in range(5): display('b' * 60000)\nask()");
    let result = session.last()["result"].clone();
    assert_eq!(result["requests"][0]["arguments"]["a"].as_str().unwrap().len(), 200_000);
    assert_eq!(result["left_out"]["items"], 1, "{}", result["left_out"]);
    assert_eq!(session.last_in_notebook()["metadata"]["wardian"]["state"], "waiting");
    session.close();
}

#[test]
fn a_cell_waits_on_whose_answers_are_given_up_before_a_worker_has_them() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let session = Asking::begin(&client, "x = 1");
    session.waits("print('one')\ny = await tools.mail()\ny");
    let busy = client.run_with("while True: pass", json!({"detach": true, "timeout_ms": 100_000}));
    let busy = format!("/v1/runs/{}", busy["run_id"].as_str().unwrap());
    eventually(PATIENCE, || (client.get(&busy).json()["status"] == "running").then_some(()));
    let mut params = session.answers("c2-r1");
    params["language"] = "python".into();
    params["code"] = "".into();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    // The caller leaves.
    let mut connection = server.connect();
    connection.send(request("/rpc", &call));
    session.until_it_runs();
    drop(connection);
    let waiting = session.until("waiting");
    assert_eq!(waiting["result"]["logs_preview"], "one\n", "{waiting:#}");
    // The run is cancelled.
    thread::scope(|scope| {
        let answered = scope.spawn(|| client.run_with("", session.answers("c2-r1")));
        let run = session.until_it_runs();
        assert_eq!(client.post_to(&format!("/v1/runs/{run}/cancel")).status, 200);
        let answered = answered.join().unwrap();
        assert_eq!(answered["session"]["state"], "waiting", "{answered:#}");
    });
    session.until("waiting");
    assert_eq!(client.post_to(&format!("{busy}/cancel")).status, 200);
    let answered = client.run_with("", session.answers("c2-r1"));
    assert_eq!(output(&answered)["result"], 5, "{answered:#}");
    assert_eq!(session.last()["result"]["logs_preview"], "one\n");

    // One that has gone on ends with its caller, and what it has shown before is kept.
    session.waits("print('two')\nimport time\nx = await tools.mail()\ntime.sleep(100)");
    thread::scope(|scope| {
        let answered = scope.spawn(|| client.run_with("", session.answers("c3-r2")));
        let run = session.until_it_runs();
        let run = format!("/v1/runs/{run}");
        eventually(PATIENCE, || (client.get(&run).json()["status"] == "running").then_some(()));
        assert_eq!(client.post_to(&format!("{run}/cancel")).status, 200);
        let answered = answered.join().unwrap();
        assert_eq!(answered["session"]["state"], "rolled_back", "{answered:#}");
    });
    let cell = session.until("rolled_back");
    assert_eq!(cell["result"]["logs_preview"], "two\n", "{cell:#}");
    assert!(cell["result"]["session"]["reason"].as_str().unwrap().contains("stopped"), "{cell:#}");
    assert_eq!(output(&session.cell("x"))["result"], 1);
}

#[test]
fn a_cell_that_was_interrupted_goes_on_without_the_client_of_the_interrupt() {
    let server = TestServer::shared();
    let client = server.client();
    let session = Asking::begin(&client, "import time");
    let catches =
        "try:\n    y = await tools.mail()\nexcept KeyboardInterrupt:\n    time.sleep(4)\n'slept'";
    session.waits(catches);
    let begun = Instant::now();
    let answer = client.post_json(&session.path("/interrupt"), &json!({}));
    assert_eq!((answer.status, &answer.json()["interrupted"]), (202, &json!(true)));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let cell = session.until("kept");
    assert_eq!(cell["result"]["output"]["result"], "slept", "{cell:#}");
    // Its client leaves.
    session.waits(catches);
    let mut connection = server.connect();
    connection.send(request(&session.path("/interrupt"), &json!({})));
    session.until_it_runs();
    drop(connection);
    let cell = session.until("kept");
    assert_eq!(
        (&cell["number"], &cell["result"]["output"]["result"]),
        (&json!(3), &json!("slept"))
    );
    session.close();
}

#[test]
fn who_waits_for_a_session_learns_that_its_cell_waits_for_answers() {
    let client = TestServer::shared().client();
    let session = Asking::begin(&client, "import time\ndef name(): return input('Name? ')");
    let checkpoint = client.get(&session.path("")).json()["checkpoint"].clone();
    thread::scope(|scope| {
        let asks = scope.spawn(|| session.cell("time.sleep(2)\nname()"));
        session.until_it_runs();
        let begun = Instant::now();
        let waits = json!({"id": session.id, "wait_ms": 600_000});
        let params = json!({"language": "python", "code": "1", "session": waits});
        let refused = client.refusal("run_code", params);
        assert_eq!(refused.kind, "session_busy", "{}", refused.message);
        assert!(refused.message.contains("`answers`"), "{}", refused.message);
        assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
        assert_eq!(asks.join().unwrap()["session"]["state"], "waiting");
    });
    let restored = client.post_json(&session.path("/restore"), &json!({"checkpoint": checkpoint}));
    assert_eq!(restored.status, 409, "{restored:?}");
    assert!(String::from_utf8_lossy(&restored.body).contains("`answers`"), "{restored:?}");
    session.close();
}

#[test]
fn a_cell_whose_worker_is_lost_at_once_says_that_it_was_begun_twice() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let session = Asking::begin(&client, "import time\nx = 1");
    thread::scope(|scope| {
        let slept = scope.spawn(|| session.cell("x += 1\ntime.sleep(1)\nx"));
        let run = format!("/v1/runs/{}", session.until_it_runs());
        eventually(PATIENCE, || (client.get(&run).json()["status"] == "running").then_some(()));
        server.workers().iter().for_each(Watched::kill);
        let slept = slept.join().unwrap();
        // On a busy machine it is not lost at once.
        if slept["session"]["state"] == "kept" {
            assert_eq!(output(&slept)["result"], 2, "its state was that of its beginning");
            let summary = slept["summary"].as_str().unwrap();
            assert!(summary.contains("begun a second time"), "{summary}");
        } else {
            assert_eq!(slept["session"]["state"], "rolled_back", "{slept:#}");
        }
    });
}
