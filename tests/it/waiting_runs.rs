//! Runs that wait, in a sleep or for the network, make room for others.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, TestServer, eventually, output};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SLEEPS: &str = "import time\ntime.sleep(100)";
const COMPUTES: &str = "while True:\n    pass";

fn begin(client: &Client, code: &str) -> String {
    let begun = client.run_with(code, json!({"detach": true, "timeout_ms": 100_000}));
    begun["run_id"].as_str().unwrap().to_owned()
}

fn status(client: &Client, id: &str) -> Value {
    client.get(&format!("/v1/runs/{id}")).json()["status"].clone()
}

fn until_it_runs(client: &Client, id: &str) {
    eventually(PATIENCE, || (status(client, id) == "running").then_some(()));
}

fn cancel(client: &Client, id: &str) {
    assert_eq!(client.post_to(&format!("/v1/runs/{id}/cancel")).status, 200);
}

fn server(max: &str) -> TestServer {
    let max = format!("workers.max={max}");
    TestServer::start(&["--workers", "1", "--set", &max, "--set", "workers.spares=0"])
}

#[test]
fn runs_that_wait_make_room_up_to_the_most() {
    let server = server("3");
    let client = server.client();
    let before = server.workers().len();
    let sleeping: Vec<String> = (0..3).map(|_| begin(&client, SLEEPS)).collect();
    sleeping.iter().for_each(|id| until_it_runs(&client, id));
    // Three is the most, whatever they do.
    let fourth = begin(&client, "4");
    thread::park_timeout(Duration::from_millis(500));
    assert_eq!(status(&client, &fourth), "queued");
    assert_eq!(server.workers().len(), before + 2);
    cancel(&client, &sleeping[0]);
    eventually(PATIENCE, || (status(&client, &fourth) == "ended").then_some(()));
    for _ in 0..5 {
        assert_eq!(output(&client.run("6 * 7"))["result"], 42);
    }
    sleeping[1..].iter().for_each(|id| cancel(&client, id));
    // Workers that are not needed any more end.
    eventually(PATIENCE, || (server.workers().len() == before).then_some(()));
    assert_eq!(output(&client.run("6 * 7"))["result"], 42);
}

#[test]
fn runs_that_compute_keep_their_core() {
    let server = server("3");
    let client = server.client();
    let computing = begin(&client, COMPUTES);
    until_it_runs(&client, &computing);
    let next = begin(&client, "2");
    thread::park_timeout(Duration::from_secs(1));
    assert_eq!(status(&client, &next), "queued");
    cancel(&client, &computing);
    eventually(PATIENCE, || (status(&client, &next) == "ended").then_some(()));
}

#[test]
fn without_the_setting_as_many_run_as_the_operator_counts() {
    let server = TestServer::start(&["--workers", "1"]);
    let client = server.client();
    let sleeping = begin(&client, SLEEPS);
    until_it_runs(&client, &sleeping);
    let next = begin(&client, "2");
    thread::park_timeout(Duration::from_millis(500));
    assert_eq!(status(&client, &next), "queued");
    cancel(&client, &sleeping);
    eventually(PATIENCE, || (status(&client, &next) == "ended").then_some(()));
}
