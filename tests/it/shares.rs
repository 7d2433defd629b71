//! Overload: a full server and a tenant over its limits refuse at once and say when to come back.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Answer, Client, TestServer, eventually};

/// Longer than any run takes to begin, with all processors busy.
const SOON: Duration = Duration::from_secs(60);

/// Much longer than a refusal takes, and much shorter than the run that others would wait for.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A program that says by a blob that it has begun, and then takes long.
const LONG: &str = "
import time
from runtime import blobs

def main(args):
    blobs.write_text(args['mark'])
    time.sleep(20)
";

fn run_code(code: &str, args: serde_json::Value) -> String {
    let params = json!({"language": "python", "code": code, "args": args});
    json!({"jsonrpc": "2.0", "id": 7, "method": "run_code", "params": params}).to_string()
}

/// Sends runs of which the only worker takes one, and `waiting` may wait. Returns the answer to a
/// further one.
fn answer_while_busy(server: &TestServer, waiting: usize, mark: &str) -> (Answer, Duration) {
    let client = server.client();
    // All leave before their runs are over, which stops them.
    let mut connections: Vec<_> = (0..waiting + 3).map(|_| server.connect()).collect();
    for connection in &mut connections {
        let call = run_code(LONG, json!({"mark": mark}));
        let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        connection.send(format!("{head}Content-Length: {}\r\n\r\n{call}", call.len()));
    }
    wait_for_mark(&client, mark);
    // Those that may wait have arrived once the others are refused.
    eventually(SOON, || {
        connections.retain_mut(|call| call.reply_within(Duration::from_millis(50)).is_none());
        (connections.len() == waiting + 1).then_some(())
    });
    let asked = Instant::now();
    let answer = client.post(run_code("def main(args): return 7", json!({})));
    (answer, asked.elapsed())
}

/// Waits until a run has written the blob with this text.
fn wait_for_mark(client: &Client, mark: &str) {
    let id = TestServer::shared().client().create_text(mark, "text/plain");
    eventually(SOON, || client.call("read_blob", json!({"blob_id": id})).ok());
}

fn assert_told_when(answer: &Answer) {
    let delay = answer.json()["error"]["data"]["retry_after_ms"].as_u64().unwrap();
    let seconds: u64 = answer.header("retry-after").parse().unwrap();
    assert!((100..=60_000).contains(&delay), "{answer:?}");
    assert_eq!(seconds, delay.div_ceil(1_000), "{answer:?}");
}

#[test]
fn a_full_server_refuses_at_once_and_says_when_to_come_back() {
    let settings = ["--workers", "1", "--set", "workers.queue=0"];
    let server = TestServer::start(&settings);
    let (answer, took) = answer_while_busy(&server, 0, "a server is full");
    assert_eq!((answer.status, answer.error()), (503, (1004, "overloaded".into(), json!(7))));
    assert!(took < AT_ONCE, "{took:?}");
    assert_told_when(&answer);
    assert_eq!(server.client().call("list_skills", json!({})).map(drop), Ok(()));
}

#[test]
fn a_tenant_with_too_many_waiting_runs_is_refused_at_once() {
    let settings = ["--workers", "1", "--set", "tenants.queued=1"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let (answer, took) = answer_while_busy(&server, 1, "a tenant is over its bound");
    assert_eq!((answer.status, answer.error()), (429, (1003, "rate_limited".into(), json!(7))));
    assert!(took < AT_ONCE, "{took:?}");
    assert_told_when(&answer);
    // The runs of those that have left are over, and the tenant may run again.
    eventually(SOON, || {
        let answer = client.post(run_code("def main(args): return 7", json!({})));
        (answer.status == 200).then_some(())
    });
}

#[test]
fn a_tenant_over_its_rate_is_refused_whatever_it_calls() {
    let settings = ["--workers", "1", "--set", "tenants.rate=1", "--set", "tenants.burst=3"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "list_skills"}).to_string();
    let answers: Vec<Answer> = (0..40).map(|_| client.post(call.clone())).collect();
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(refused.len() >= 20 && answers[0].status == 200, "{}", refused.len());
    for answer in refused {
        assert_eq!(answer.error(), (1003, "rate_limited".into(), json!(7)));
        assert_eq!(answer.header("retry-after"), "1");
    }
    // What the answer says is so.
    eventually(SOON, || (client.post(call.clone()).status == 200).then_some(()));
    // Requests for blobs count too.
    let blobs = eventually(SOON, || Some(client.get("/v1/blobs")).filter(|it| it.status == 429));
    assert_eq!((blobs.error().1, blobs.header("retry-after")), ("rate_limited".into(), "1"));
    // A large body is not waited for.
    let unread = eventually(SOON, || {
        while client.post(call.clone()).status == 200 {}
        let mut connection = server.connect();
        let head = "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
        connection.send(format!("{head}Content-Length: 1000000\r\n\r\n"));
        connection.reply_within(Duration::from_secs(3))
    });
    assert_eq!((unread.status, unread.header("connection")), (429, "close"));
    assert_eq!((unread.kind().as_str(), &unread.json()["id"]), ("rate_limited", &json!(null)));
}

#[test]
fn a_run_that_may_use_more_memory_than_all_together_is_refused() {
    let settings = ["--workers", "1", "--set", "workers.memory=768 MiB"];
    let server =
        TestServer::start(&[&settings[..], &["--set", "limits.max.memory=1 GiB"]].concat());
    let client = server.client();
    assert_eq!(client.run("def main(args): return 7")["status"], "completed");
    let params = json!({"language": "python", "code": "1", "limits": {"memory_bytes": 1 << 30}});
    let refused = client.refusal("run_code", params);
    assert_eq!((refused.code, refused.kind.as_str()), (-32602, "too_large"));
    assert!(refused.message.contains("ask for less"), "{refused:?}");
}

#[test]
fn a_tenant_that_has_used_its_processor_time_is_refused_and_waiting_uses_none() {
    let settings = ["--workers", "1", "--set", "tenants.cpu_time=1 s"];
    let server =
        TestServer::start(&[&settings[..], &["--set", "tenants.cpu_time_period=1 d"]].concat());
    let client = server.client();
    let sleeps = "import time\ndef main(args): time.sleep(0.6)";
    for _ in 0..3 {
        assert_eq!(client.run(sleeps)["status"], "completed");
    }
    let computes = run_code("def main(args): return sum(range(10_000_000))", json!({}));
    let answer =
        eventually(SOON, || Some(client.post(&computes)).filter(|answer| answer.status != 200));
    assert_eq!((answer.status, answer.error().1.as_str()), (429, "rate_limited"), "{answer:?}");
    let delay = answer.json()["error"]["data"]["retry_after_ms"].as_u64().unwrap();
    // What was used beyond a second comes back at a second in a day.
    assert!(delay > 80_000, "{delay} ms");
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("used up the time allowed for its runs"), "{message}");
}
