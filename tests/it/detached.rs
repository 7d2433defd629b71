//! Runs in the background, and the cancellation of runs.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wardian_stores::database::open_records;
use wardian_stores::records::{NotedRun, RunHolder, RunRecord, ServerId};
use wardian_vocabulary::ids::{RunId, TenantId};

use crate::support::{Answer, Client, Command, TestServer, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs until it is stopped.
const SLEEPS: &str = "import time\ntime.sleep(120)";

fn detached(client: &Client, code: &str, more: Value) -> Value {
    client.run_with(code, with(more, json!({"detach": true})))
}

fn with(mut params: Value, more: Value) -> Value {
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn id_of(begun: &Value) -> String {
    assert!(["queued", "running", "ended"].contains(&begun["status"].as_str().unwrap()), "{begun}");
    assert_eq!(begun.as_object().unwrap().len(), 2, "{begun}");
    begun["run_id"].as_str().unwrap().to_owned()
}

/// What the server knows of a run.
fn asked(client: &Client, id: &str, wait_ms: u64) -> Value {
    let answer = client.get(&format!("/v1/runs/{id}?wait_ms={wait_ms}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// The record of a run, with its result, after its end.
fn ended(client: &Client, id: &str) -> Value {
    let found = eventually(PATIENCE, || {
        let found = asked(client, id, 20_000);
        (found["status"] == "ended").then_some(found)
    });
    assert_eq!(found["run_id"], id);
    found
}

fn until_it_is(client: &Client, id: &str, status: &str) {
    eventually(PATIENCE, || (asked(client, id, 0)["status"] == status).then_some(()));
}

fn cancel(client: &Client, id: &str) -> Answer {
    client.post_to(&format!("/v1/runs/{id}/cancel"))
}

fn listed(client: &Client) -> Vec<String> {
    let page = client.get("/v1/runs?limit=1000").json();
    let text = |run: &Value| run["run_id"].as_str().unwrap().to_owned();
    page["runs"].as_array().unwrap().iter().map(text).collect()
}

fn skills() -> String {
    crate::support::repository("tests/it/skills").to_str().unwrap().to_owned()
}

#[test]
fn a_detached_run_has_the_result_that_its_call_would_have_returned() {
    let server = TestServer::start(&["--skills", &skills()]);
    let client = server.client();
    let code = "import runtime, time\n\
        def main(args):\n    \
            print('begun')\n    \
            runtime.progress(3, 10, 'third')\n    \
            time.sleep(1.5)\n    \
            blob = runtime.blobs.write_text('made')\n    \
            return {'n': args['n'], 'blob': str(blob), 'long': 'x' * 9000}\n";
    let asked_at = Instant::now();
    let id = id_of(&detached(&client, code, json!({"args": {"n": 1}})));
    assert!(asked_at.elapsed() < Duration::from_secs(1), "the call waited for the run");
    let running = eventually(PATIENCE, || {
        let found = asked(&client, &id, 0);
        (found["progress"] != Value::Null).then_some(found)
    });
    assert_eq!((&running["status"], &running["detached"]), (&json!("running"), &json!(true)));
    assert_eq!(running["progress"], json!({"done": 3.0, "total": 10.0, "message": "third"}));
    assert_eq!(running["kind"], "run_code");
    let active = client.get("/v1/runs/active").json();
    assert_eq!(active["runs"][0]["run_id"], json!(id), "{active}");
    let found = ended(&client, &id);
    assert_eq!((&found["outcome"], &found["detached"]), (&json!("completed"), &json!(true)));
    let attached = client.run_with(code, json!({"args": {"n": 1}}));
    let shape = |result: &Value| {
        let mut result = result.clone();
        for varies in ["run_id", "duration_ms", "memory_peak_bytes", "summary"] {
            assert!(result[varies].is_u64() || result[varies].is_string(), "{result}");
            result[varies] = Value::Null;
        }
        result
    };
    assert_eq!(shape(&found["result"]), shape(&attached));
    assert_eq!(found["result"]["run_id"], id);
    assert_eq!(found["result"]["output_truncated"], true);
    for blob in found["result"]["output_blobs"].as_array().unwrap() {
        let read = client.call("read_blob", json!({"blob_id": blob})).unwrap();
        assert!(read["size_bytes"].as_u64().unwrap() > 0);
    }
    assert_eq!(client.get(&format!("/v1/runs/{id}/log")).body, b"begun\n");
    assert_eq!(client.get("/v1/runs/active").json(), json!({"runs": []}));
    let failing = id_of(&detached(&client, "raise KeyError('k')", json!({})));
    let found = ended(&client, &failing);
    assert_eq!(
        (&found["outcome"], &found["result"]["error"]["type"]),
        (&json!("exception"), &json!("KeyError"))
    );
    let call = json!({"name": "acme.echo", "args": {"x": 1}, "detach": true});
    let found = ended(&client, &id_of(&client.call("execute_skill", call).unwrap()));
    assert_eq!(
        (&found["skill"]["name"], &found["result"]["output"]["args"]["x"]),
        (&json!("acme.echo"), &json!(1))
    );
    // A run that was not detached has a record too, and no result.
    let found = ended(&client, attached["run_id"].as_str().unwrap());
    assert_eq!((&found["detached"], &found["result"]), (&json!(false), &Value::Null));
}

#[test]
fn what_is_refused_begins_nothing() {
    let arguments = ["--workers", "1", "--set", "tenants.detached=2"];
    let server = TestServer::start(&[&arguments[..], &["--skills", &skills()]].concat());
    let client = server.client();
    let unknown = format!("blob:{}", "a".repeat(52));
    let code = |more: Value| with(json!({"language": "python", "code": "1", "detach": true}), more);
    for (method, params, kind) in [
        ("run_code", code(json!({"input_blobs": [unknown]})), "blob_not_found"),
        ("run_code", code(json!({"mount_skills": ["acme.none"]})), "skill_not_found"),
        ("run_code", code(json!({"timeout_ms": 10_000_000})), "invalid_params"),
        ("run_code", code(json!({"args": {"x": "x".repeat(1 << 20)}})), "too_large"),
        ("run_code", code(json!({"idempotency_key": "a b"})), "invalid_params"),
        ("execute_skill", json!({"name": "acme.guide", "detach": true}), "not_executable"),
        (
            "execute_skill",
            json!({"name": "acme.inputs", "args": {"no": 1}, "detach": true}),
            "invalid_params",
        ),
    ] {
        assert_eq!(client.refusal(method, params.clone()).kind, kind, "{params:.200}");
    }
    let running = [(); 2].map(|()| id_of(&detached(&client, SLEEPS, json!({}))));
    let refusal = client.refusal("run_code", code(json!({})));
    assert_eq!((refusal.kind.as_str(), refusal.code), ("rate_limited", 1003));
    for id in &running {
        assert_eq!(cancel(&client, id).status, 200);
    }
    // The seats are free again.
    ended(&client, &id_of(&detached(&client, "1", json!({}))));
    let without = TestServer::start(&["--set", "records.enabled=false"]);
    let refusal = without.client().refusal("run_code", code(json!({})));
    assert_eq!(refusal.kind, "invalid_params");
    assert_eq!(without.client().run("1")["status"], "completed");
}

#[test]
fn a_call_that_is_repeated_with_its_key_begins_one_run() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let key = json!({"idempotency_key": "nightly:1"});
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let (client, key) = (client.clone(), key.clone());
            thread::spawn(move || id_of(&detached(&client, SLEEPS, key)))
        })
        .collect();
    let ids: Vec<String> = calls.into_iter().map(|call| call.join().unwrap()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let other = with(json!({"language": "python", "code": "2", "detach": true}), key.clone());
    let refusal = client.refusal("run_code", other);
    assert_eq!(refusal.kind, "invalid_params");
    let another = id_of(&detached(&client, "1", json!({"idempotency_key": "nightly:2"})));
    assert_ne!(another, ids[0]);
    ended(&client, &another);
    until_it_is(&client, &ids[0], "running");
    server.process().kill();
    server.wait();
    // The server was killed in the middle of the run. Nobody runs it again, also if the operator has
    // changed what a call gets that asks for nothing.
    let server = TestServer::start_on(&data, &["--set", "limits.timeout=20 s"]);
    let client = server.client();
    let begun = detached(&client, SLEEPS, key);
    assert_eq!((id_of(&begun), &begun["status"]), (ids[0].clone(), &json!("ended")));
    let found = ended(&client, &ids[0]);
    assert_eq!(found["outcome"], "interrupted");
    assert_eq!((&found["error"]["type"], &found["result"]), (&json!("Interrupted"), &Value::Null));
    assert_eq!(listed(&client).iter().filter(|id| **id == ids[0]).count(), 1);
    assert!(server.log().contains("interrupted when the server stopped: 1"), "{}", server.log());
}

#[test]
fn no_run_stays_in_progress_when_the_server_stops() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &["--workers", "2"]);
    let client = server.client();
    let short = id_of(&detached(&client, "import time\ntime.sleep(2)\n7", json!({})));
    until_it_is(&client, &short, "running");
    drop(server);
    // It ended within the time of the drain.
    let arguments = ["--workers", "1", "--set", "http.drain_timeout=300 ms"];
    let server = TestServer::start_on(&data, &arguments);
    let client = server.client();
    let found = ended(&client, &short);
    assert_eq!(
        (&found["outcome"], &found["result"]["output"]["result"]),
        (&json!("completed"), &json!(7))
    );
    let ids = [(); 3].map(|()| id_of(&detached(&client, SLEEPS, json!({}))));
    drop(server);
    let server = TestServer::start_on(&data, &[]);
    for id in &ids {
        let found = ended(&server.client(), id);
        assert_eq!(
            (&found["outcome"], &found["error"]["type"]),
            (&json!("interrupted"), &json!("Interrupted"))
        );
    }
    assert_eq!(listed(&server.client()).len(), 4);
    assert!(
        !server.log().contains("interrupted when the server stopped"),
        "the stop wrote their records"
    );
}

#[test]
fn a_run_that_waits_too_long_in_the_background_has_a_record() {
    let arguments = ["--workers", "1", "--set", "workers.detached_wait=1 s"];
    let server = TestServer::start(&arguments);
    let client = server.client();
    let first = id_of(&detached(&client, SLEEPS, json!({})));
    until_it_is(&client, &first, "running");
    let begun = detached(&client, "1", json!({}));
    assert_eq!(begun["status"], "queued");
    let found = ended(&client, &id_of(&begun));
    assert_eq!(
        (&found["outcome"], &found["error"]["type"]),
        (&json!("refused"), &json!("overloaded"))
    );
    cancel(&client, &first);
}

#[test]
fn a_cancelled_run_ends_and_its_worker_stays() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    client.run("1");
    let workers =
        |server: &TestServer| -> Vec<u32> { server.workers().iter().map(|w| w.id).collect() };
    let before = workers(&server);
    for program in [SLEEPS, "while True: pass"] {
        let running = id_of(&detached(&client, program, json!({})));
        until_it_is(&client, &running, "running");
        let waiting = id_of(&detached(&client, "1", json!({})));
        until_it_is(&client, &waiting, "queued");
        for id in [&waiting, &running, &running] {
            let began = Instant::now();
            let answer = cancel(&client, id);
            let expected = json!({"run_id": id, "status": "ended", "outcome": "cancelled"});
            assert_eq!((answer.status, answer.json()), (200, expected));
            assert!(began.elapsed() < Duration::from_secs(4));
        }
        for id in [running, waiting] {
            let found = ended(&client, &id);
            assert_eq!(found["result"]["error"]["type"], "Cancelled", "{found}");
        }
        assert_eq!(client.run("2")["status"], "completed");
    }
    assert_eq!(workers(&server), before, "a worker was lost");
    // A run that its client waits for.
    let call = {
        let client = client.clone();
        thread::spawn(move || client.run(SLEEPS))
    };
    let id = eventually(PATIENCE, || {
        let active = client.get("/v1/runs/active").json();
        let run = &active["runs"][0];
        (run["status"] == "running").then(|| run["run_id"].as_str().unwrap().to_owned())
    });
    assert_eq!(cancel(&client, &id).json()["outcome"], "cancelled");
    let result = call.join().unwrap();
    assert_eq!(
        (&result["status"], &result["error"]["type"]),
        (&json!("failed"), &json!("Cancelled"))
    );
    assert_eq!(result["run_id"], id);
    // One that is over.
    let over = client.run("3");
    let answer = cancel(&client, over["run_id"].as_str().unwrap()).json();
    assert_eq!((&answer["status"], &answer["outcome"]), (&json!("ended"), &json!("completed")));
    assert_eq!(workers(&server), before, "a worker was lost");
}

#[test]
fn a_refused_call_leaves_no_name() {
    let arguments = ["--workers", "1", "--set", "workers.queue=0"];
    let server = TestServer::start(&arguments);
    let client = server.client();
    let first = id_of(&detached(&client, SLEEPS, json!({})));
    until_it_is(&client, &first, "running");
    let call =
        json!({"language": "python", "code": "7", "detach": true, "idempotency_key": "once"});
    // Calls at the same time are refused too: none is told of a run that there is not.
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let (client, call) = (client.clone(), call.clone());
            thread::spawn(move || client.refusal("run_code", call).kind)
        })
        .collect();
    for refused in calls {
        assert_eq!(refused.join().unwrap(), "overloaded");
    }
    assert_eq!(cancel(&client, &first).status, 200);
    let begun = eventually(PATIENCE, || client.call("run_code", call.clone()).ok());
    assert_eq!(ended(&client, &id_of(&begun))["result"]["output"]["result"], 7);
    let again = client.call("run_code", call).unwrap();
    assert_eq!((id_of(&again), &again["status"]), (id_of(&begun), &json!("ended")));
}

#[test]
fn a_key_that_was_revoked_while_its_request_waited_is_told_nothing() {
    let place = Command::new();
    let arguments = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&arguments);
    let (one, other) = (key(&place, &server, "acme", "code"), key(&place, &server, "acme", "code"));
    let id = id_of(&detached(&one, SLEEPS, json!({})));
    until_it_is(&one, &id, "running");
    let (waiting, path) = (one.clone(), format!("/v1/runs/{id}?wait_ms=60000"));
    let waits = thread::spawn(move || waiting.get(&path).status);
    let data = server.data_dir().to_str().unwrap();
    let prefix = &one.key().unwrap()[8..16];
    place.run(&["--data-dir", data, "keys", "revoke", prefix]).with(0);
    eventually(PATIENCE, || (one.get("/v1/runs/active").status == 401).then_some(()));
    assert_eq!(cancel(&other, &id).status, 200);
    assert_eq!(waits.join().unwrap(), 401);
    assert_eq!(ended(&other, &id)["outcome"], "cancelled");
}

/// Requests that wait hold connections, which no tenant owns: each tenant has a part of them.
#[test]
fn a_tenant_whose_requests_wait_keeps_no_other_tenant_out() {
    let place = Command::new();
    let arguments = ["auth.mode=keys", "workers.require_lockdown=false", "http.max_connections=16"];
    let arguments = arguments.iter().flat_map(|setting| ["--set", setting]).collect::<Vec<_>>();
    let server = TestServer::start(&arguments);
    let (one, other) =
        (key(&place, &server, "acme", "code"), key(&place, &server, "globex", "code"));
    let id = id_of(&detached(&one, SLEEPS, json!({})));
    until_it_is(&one, &id, "running");
    // Of 16 connections 12 may wait, and 6 of them for one tenant.
    let polls: Vec<_> = (0..16)
        .map(|_| {
            let (waiting, path) = (one.clone(), format!("/v1/runs/{id}?wait_ms=60000"));
            thread::spawn(move || {
                let (asked, answer) = (Instant::now(), waiting.get(&path));
                (asked.elapsed(), answer.header("retry-after").to_owned(), answer.json())
            })
        })
        .collect();
    eventually(PATIENCE, || {
        (polls.iter().filter(|poll| poll.is_finished()).count() >= 10).then_some(())
    });
    for _ in 0..20 {
        let asked = Instant::now();
        assert_eq!(other.get("/v1/runs/active").status, 200);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    }
    // The other tenant has a part of its own.
    let its = id_of(&detached(&other, SLEEPS, json!({})));
    until_it_is(&other, &its, "running");
    let (waiting, path) = (other.clone(), format!("/v1/runs/{its}?wait_ms=60000"));
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || sender.send(waiting.get(&path).json()));
    let early = answers.recv_timeout(Duration::from_millis(300));
    assert_eq!(early, Err(RecvTimeoutError::Timeout), "it does not wait");
    assert_eq!(cancel(&other, &its).status, 200);
    assert_eq!(answers.recv_timeout(PATIENCE).unwrap()["status"], "ended");
    assert_eq!(cancel(&one, &id).status, 200);
    let answers: Vec<_> = polls.into_iter().map(|poll| poll.join().unwrap()).collect();
    let (at_once, waited): (Vec<_>, Vec<_>) =
        answers.iter().partition(|(_, retry_after, _)| !retry_after.is_empty());
    assert_eq!((at_once.len(), waited.len()), (10, 6), "{answers:?}");
    assert!(at_once.iter().all(|(_, again, run)| { again == "1" && run["status"] == "running" }));
    assert!(waited.iter().all(|(.., run)| run["status"] == "ended"));
}

/// Makes a key and waits until the server knows it.
fn key(place: &Command, server: &TestServer, tenant: &str, scopes: &str) -> Client {
    let data = server.data_dir().to_str().unwrap();
    let arguments = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
    let made = place.run(&[&arguments[..], &["--scopes", scopes]].concat()).with(0);
    let client = server.client().with_key(made.stdout.trim_end());
    eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
    client
}

#[test]
fn a_run_of_another_tenant_or_scope_is_cancelled_no_more_than_one_that_does_not_exist() {
    let place = Command::new();
    let arguments = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&arguments);
    let acme = key(&place, &server, "acme", "code,execute");
    let beta = key(&place, &server, "beta", "code,execute");
    let id = id_of(&detached(&acme, SLEEPS, json!({"idempotency_key": "k"})));
    until_it_is(&acme, &id, "running");
    let unknown = format!("run_{}", "0".repeat(32));
    let skills_only = key(&place, &server, "acme", "execute");
    for stranger in [&beta, &skills_only] {
        let answers = [&id, &unknown].map(|id| {
            [cancel(stranger, id), stranger.get(&format!("/v1/runs/{id}?wait_ms=1"))].map(
                |answer| {
                    let text =
                        String::from_utf8(answer.body.clone()).unwrap().replace(id.as_str(), "");
                    (answer.status, text)
                },
            )
        });
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0][0].0, 404);
        assert_eq!(stranger.get("/v1/runs/active").json(), json!({"runs": []}));
    }
    let discovers = key(&place, &server, "acme", "discover,blobs,admin");
    for answer in [cancel(&discovers, &id), discovers.get("/v1/runs/active")] {
        assert_eq!((answer.status, answer.error().1.as_str()), (403, "forbidden"));
    }
    assert_eq!(cancel(&server.client(), &id).status, 401);
    // The same name of another tenant is another run.
    let theirs = id_of(&detached(&beta, SLEEPS, json!({"idempotency_key": "k"})));
    assert_ne!(theirs, id);
    for (client, id) in [(&acme, &id), (&beta, &theirs)] {
        assert_eq!(cancel(client, id).json()["outcome"], "cancelled");
    }
}

#[test]
fn the_command_line_waits_for_runs_and_cancels_them() {
    let server = TestServer::start(&["--workers", "2"]);
    let (client, place) = (server.client(), Command::new());
    let url = format!("http://{}", server.address);
    let runs =
        |arguments: &[&str]| place.run(&[&["runs"], arguments, &["--server", &url]].concat());
    let code = "import runtime, time\nruntime.progress(1, 4, 'first')\ntime.sleep(1.5)\n{'n': 5}";
    let id = id_of(&detached(&client, code, json!({})));
    let shown = runs(&["active"]).with(0).stdout;
    assert!(shown.contains(&id) && shown.contains("run_code"), "{shown}");
    let waited = runs(&["wait", &id]).with(0);
    let output: Value = serde_json::from_str(&waited.stdout).unwrap();
    assert_eq!(output, json!({"n": 5}), "{waited:?}");
    assert!(waited.stderr.contains("running"), "{waited:?}");
    let json = runs(&["wait", &id, "--json"]).with(0).json();
    assert_eq!(json["result"]["output"], json!({"n": 5}));
    let failing = id_of(&detached(&client, "raise ValueError('no')", json!({})));
    let waited = runs(&["wait", &failing]).with(1);
    assert!(waited.stderr.contains("exception: ValueError: no"), "{waited:?}");
    let sleeping = id_of(&detached(&client, SLEEPS, json!({})));
    assert_eq!(runs(&["show", &sleeping]).with(1).stdout, "");
    let cancelled = runs(&["cancel", &sleeping]).with(0).stdout;
    assert_eq!(cancelled, format!("run `{sleeping}` is cancelled\n"));
    let again = runs(&["cancel", &failing]).with(0).stdout;
    assert_eq!(again, format!("run `{failing}` had already ended: exception\n"));
    assert!(runs(&["wait", &sleeping]).with(1).stderr.contains("cancelled: Cancelled"));
    let unknown = format!("run_{}", "0".repeat(32));
    assert!(!runs(&["cancel", &unknown]).stderr.is_empty());
    let without = place.run(&["runs", "cancel", &id]).with(2);
    assert!(without.stderr.contains("--server"), "{without:?}");
}

/// Runs whose records were lost leave notes, which count as records as soon as the tenant goes on.
#[test]
fn lost_ends_of_detached_runs_outlive_no_limit_on_records() {
    let server = TestServer::start(&["--set", "records.max_count=4"]);
    let client = server.client();
    let first = ended(&client, &id_of(&detached(&client, "print(1)", json!({}))));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = server.data_dir().join("records.db");
    let table = runtime.block_on(open_records(&place)).unwrap();
    let run = RunId::parse(first["run_id"].as_str().unwrap()).unwrap();
    let text = runtime.block_on(table.find(&TenantId::local(), None, &run)).unwrap().unwrap();
    let record: RunRecord = serde_json::from_str(&text).unwrap();
    // As the server has noted them, in its first life.
    let server = std::fs::read_to_string(server.data_dir().join("server-id")).unwrap();
    let holder = RunHolder { server: ServerId::parse(server.trim_end()).unwrap(), epoch: 1 };
    let mut lost = Vec::new();
    for _ in 0..12 {
        let run_id = RunId::generate();
        let note = RunRecord { run_id: run_id.clone(), ..record.clone() };
        let noted = runtime.block_on(table.note_detached(&note, None, &holder)).unwrap();
        assert_eq!(noted, NotedRun::Done);
        lost.push(run_id);
    }
    runtime.block_on(table.close());
    assert_eq!(asked(&client, lost[0].as_str(), 0)["status"], "ended", "a note is a record");
    let next = id_of(&detached(&client, "print(1)", json!({})));
    ended(&client, &next);
    eventually(PATIENCE, || {
        let oldest = client.get(&format!("/v1/runs/{}", lost[0]));
        (listed(&client).len() == 4 && oldest.status == 404).then_some(())
    });
    assert_eq!(asked(&client, lost[11].as_str(), 0)["status"], "ended", "the newest ones stay");
    ended(&client, &next);
}
