//! Records of runs: each end leaves one, tenants are apart, a kill loses none, and old ones go.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::support::{Client, Command, SkillFolder, TestServer, contained, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// The age at which the record of an answered run is on the disk, as `docs/records.md` says.
const DURABLE_AFTER: Duration = Duration::from_secs(2);

fn skills() -> String {
    crate::support::repository("tests/it/skills").to_str().unwrap().to_owned()
}

fn page(client: &Client, query: &str) -> Value {
    let answer = client.get(&format!("/v1/runs{query}"));
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json()
}

/// Ids and ends of the listed runs, newest first.
fn listed(client: &Client, query: &str) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let page = page(client, query);
    let runs = page["runs"].as_array().unwrap().iter();
    runs.map(|run| (text(&run["run_id"]), text(&run["outcome"]))).collect()
}

/// The record of a run, once it is written.
fn record(client: &Client, id: &str) -> Value {
    eventually(PATIENCE, || {
        let answer = client.get(&format!("/v1/runs/{id}"));
        (answer.status == 200).then(|| answer.json())
    })
}

fn log_of(client: &Client, id: &str) -> String {
    let answer = client.get(&format!("/v1/runs/{id}/log"));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    String::from_utf8(answer.body).unwrap()
}

fn id_of(result: &Value) -> String {
    result["run_id"].as_str().unwrap().to_owned()
}

fn run_code(code: &str) -> String {
    let params = json!({"language": "python", "code": code});
    json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params}).to_string()
}

/// Makes a run with each end. Returns the result of the first one, and all ends, the last one first.
fn runs_with_each_end(server: &TestServer, unknown_blob: &str) -> (Value, Vec<&'static str>) {
    let client = server.client();
    let completed = client.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n7");
    client.run("raise ValueError('wrong')");
    client.run_with("while True: pass", json!({"limits": {"timeout_ms": 300}}));
    client.execute("acme.echo", json!({"x": 1}));
    let call = json!({"language": "python", "code": "1", "input_blobs": [unknown_blob]});
    assert_eq!(client.refusal("run_code", call).kind, "blob_not_found");
    // The worker is killed in the middle of a run.
    let crashing = {
        let client = client.clone();
        thread::spawn(move || client.run("import time\ntime.sleep(20)"))
    };
    thread::park_timeout(Duration::from_millis(700));
    server.workers().iter().for_each(crate::support::Watched::kill);
    let crashed = crashing.join().unwrap();
    assert_eq!(crashed["error"]["type"], "SandboxCrash", "{crashed}");
    // The client goes away.
    let mut connection = server.connect();
    let body = run_code("import time\ntime.sleep(30)");
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    thread::park_timeout(Duration::from_millis(700));
    drop(connection);
    let ends = ["cancelled", "sandbox_crash", "refused", "completed", "timeout", "exception"];
    (completed, [&ends[..], &["completed"]].concat())
}

#[test]
fn a_log_is_there_as_soon_as_its_run_is_over() {
    let server = TestServer::start(&[]);
    let client = server.client();
    for number in 0..20 {
        let done = client.run(&format!("print({number})"));
        assert_eq!(log_of(&client, &id_of(&done)), format!("{number}\n"));
    }
    let call = json!({"language": "python", "code": "import time\ntime.sleep(30)", "detach": true});
    let going = id_of(&client.call("run_code", call).unwrap());
    let answer = client.get(&format!("/v1/runs/{going}/log"));
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(String::from_utf8_lossy(&answer.body).contains("after the run"), "{answer:?}");
}

#[test]
fn one_record_per_run_whatever_its_end() {
    let server = TestServer::start(&["--skills", &skills(), "--set", "workers.count=1"]);
    let client = server.client();
    let unknown = format!("blob:{}", "a".repeat(52));
    let (completed, expected) = runs_with_each_end(&server, &unknown);
    let found = eventually(PATIENCE, || {
        let found = listed(&client, "");
        (found.len() == expected.len()).then_some(found)
    });
    let ends: Vec<&str> = found.iter().map(|(_, end)| end.as_str()).collect();
    assert_eq!(ends, expected);
    thread::park_timeout(Duration::from_millis(500));
    assert_eq!(listed(&client, ""), found, "there is one record of each");
    check_completed(&client, &id_of(&completed));
    let of_end = |end: &str| {
        let (id, _) = found.iter().find(|(_, other)| other == end).unwrap();
        record(&client, id)
    };
    let failed = of_end("exception");
    assert_eq!(failed["error"]["type"], "ValueError");
    assert_eq!(failed["error"]["message"], "wrong");
    assert!(failed["error"]["traceback"].as_str().unwrap().contains("main.py"));
    let refused = of_end("refused");
    assert_eq!(refused["error"]["type"], "blob_not_found");
    assert_eq!(refused["phases_us"]["execute"], Value::Null);
    assert_eq!(refused["input_blobs"], json!([unknown]));
    assert!(of_end("cancelled")["phases_us"]["prepare"].is_u64());
    let (executed, _) = &listed(&client, "?skill=acme.echo")[0];
    let executed = record(&client, executed);
    assert_eq!((&executed["kind"], &executed["code"]), (&json!("execute_skill"), &Value::Null));
    assert_eq!(executed["skill"]["name"], "acme.echo");
    assert_eq!(executed["skill"]["digest"].as_str().unwrap().len(), 64);
    assert_eq!(executed["mounted_skills"][0], executed["skill"]);
    assert_eq!(log_of(&client, executed["run_id"].as_str().unwrap()), "");
}

fn check_completed(client: &Client, id: &str) {
    let made = record(client, id);
    assert_eq!((&made["kind"], &made["tenant"]), (&json!("run_code"), &json!("local")));
    assert_eq!(made["key"], Value::Null);
    assert!(made["request_id"].as_str().unwrap().starts_with("req_"), "{made}");
    assert_eq!(made["code"]["digest"].as_str().unwrap().len(), 64);
    assert_eq!(made["arguments"]["size_bytes"], 2);
    assert_eq!(made["arguments"].get("value"), None, "values are not asked for");
    assert_eq!(made["limits"]["timeout_ms"], 30_000);
    for phase in ["prepare", "queue", "set_up", "execute", "finish"] {
        assert!(made["phases_us"][phase].is_u64(), "{phase}: {made}");
    }
    assert!(made["memory_peak_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(made["engine"].as_str().unwrap().len(), 64);
    assert_eq!(made["image"]["digest"].as_str().unwrap().len(), 64);
    assert_eq!(log_of(client, id), "out\nerr\n");
    let pieces = client.get(&format!("/v1/runs/{id}/log?format=json")).json();
    let piece = |at: usize| (&pieces["pieces"][at]["stream"], &pieces["pieces"][at]["text"]);
    assert_eq!(piece(1), (&json!("stderr"), &json!("err\n")));
}

#[test]
fn processor_time_is_that_of_computing_and_not_of_waiting() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let waits = record(&client, &id_of(&client.run("import time\ntime.sleep(1.5)")));
    let spins = "import time\nend = time.monotonic() + 0.8\nwhile time.monotonic() < end: pass";
    let computes = record(&client, &id_of(&client.run(spins)));
    let loops = json!({"limits": {"timeout_ms": 500}});
    let stopped = record(&client, &id_of(&client.run_with("while True: pass", loops)));
    let used = |made: &Value| {
        let (cpu, wall) = (&made["cpu_us"], &made["phases_us"]);
        let most = wall["execute"].as_u64().unwrap() + wall["set_up"].as_u64().unwrap();
        let cpu = cpu.as_u64().unwrap();
        assert!(cpu > 0 && cpu <= most, "{cpu} {wall}");
        cpu
    };
    assert!(used(&waits) < 700_000, "{}", used(&waits));
    // Another process may have had the processor for a part of the time.
    assert!(used(&computes) > 50_000 && used(&stopped) > 30_000);
    let refused = client.refusal(
        "run_code",
        json!({"language": "python", "code": "1",
        "input_blobs": [format!("blob:{}", "a".repeat(52))]}),
    );
    assert_eq!(refused.kind, "blob_not_found");
    let (id, _) = eventually(PATIENCE, || listed(&client, "?outcome=refused").pop());
    assert_eq!(record(&client, &id)["cpu_us"], Value::Null);
}

#[test]
fn what_is_no_run_of_the_caller_is_refused_with_one_answer() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let unknown = format!("run_{}", "0".repeat(32));
    for (path, status, kind) in [
        (format!("/v1/runs/{unknown}"), 404, "run_not_found"),
        (format!("/v1/runs/{unknown}/log"), 404, "run_not_found"),
        ("/v1/runs/x".to_owned(), 404, "run_not_found"),
        ("/v1/runs/%ff".to_owned(), 404, "run_not_found"),
        ("/v1/runs/..%2f..%2fetc/log".to_owned(), 404, "run_not_found"),
        ("/v1/runs?limit=0".to_owned(), 400, "invalid_params"),
        ("/v1/runs?limit=x".to_owned(), 400, "invalid_request"),
        ("/v1/runs?cursor=x".to_owned(), 400, "invalid_params"),
        ("/v1/runs?outcome=lost".to_owned(), 400, "invalid_params"),
        ("/v1/runs?skill=..".to_owned(), 400, "invalid_params"),
        ("/v1/runs?since=yesterday".to_owned(), 400, "invalid_request"),
        ("/v1/runs?tenant=..".to_owned(), 400, "invalid_params"),
        ("/v1/runs?tenants=other".to_owned(), 400, "invalid_request"),
        (format!("/v1/runs/{unknown}/log?format=html"), 400, "invalid_request"),
    ] {
        let answer = client.get(&path);
        assert_eq!(
            (answer.status, answer.error().1.as_str()),
            (status, kind),
            "{path}: {answer:?}"
        );
        assert!(answer.header("x-request-id").starts_with("req_"));
    }
    assert_eq!(page(&client, ""), json!({"runs": [], "next_cursor": null}));
}

#[test]
fn pages_follow_one_another() {
    let server = TestServer::start(&["--skills", &skills()]);
    let client = server.client();
    let mut ids: Vec<String> = (0..7).map(|_| id_of(&client.run("1"))).collect();
    ids.reverse();
    eventually(PATIENCE, || (listed(&client, "").len() == 7).then_some(()));
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..4 {
        let page = page(&client, &format!("?limit=2{cursor}"));
        let runs = page["runs"].as_array().unwrap();
        found.extend(runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
        if let Some(next) = page["next_cursor"].as_str() {
            cursor = format!("&cursor={next}");
        }
    }
    assert_eq!(found, ids);
    assert_eq!(listed(&client, "?outcome=timeout"), []);
    assert_eq!(listed(&client, "?skill=acme.echo"), []);
    let started: Vec<u64> =
        ids.iter().map(|id| record(&client, id)["started_ms"].as_u64().unwrap()).collect();
    assert!(started.is_sorted_by(|newer, older| newer >= older), "{started:?}");
    // The time of a run lists this run, all that began later, and none that began before.
    for since in &started {
        let later = listed(&client, &format!("?since={since}"));
        let later: Vec<&String> = later.iter().map(|(id, _)| id).collect();
        let expected = ids.iter().zip(&started).filter(|(_, started)| *started >= since);
        assert_eq!(later, expected.map(|(id, _)| id).collect::<Vec<_>>(), "{since}: {started:?}");
    }
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
fn own_records_only_are_shown_to_a_tenant_and_to_a_scope() {
    let place = Command::new();
    let arguments = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&[&arguments[..], &["--skills", &skills()]].concat());
    let acme = key(&place, &server, "acme", "discover,execute,code");
    let beta = key(&place, &server, "beta", "discover,execute,code");
    let code = id_of(&acme.run("print('mine')"));
    let skill = id_of(&acme.execute("acme.echo", json!({"x": 1})));
    let made = record(&acme, &code);
    record(&acme, &skill);
    assert_eq!(made["tenant"], "acme");
    assert_eq!(made["key"].as_str().unwrap().len(), 8);
    // Another tenant gets the answer of a run that does not exist, but for its id.
    let unknown = format!("run_{}", "0".repeat(32));
    for path in ["", "/content", "/log", "/record"] {
        let [theirs, nobodys] = [&code, &unknown].map(|id| {
            let answer = beta.get(&format!("/v1/runs/{id}{path}"));
            let text = String::from_utf8(answer.body.clone()).unwrap().replace(id.as_str(), "");
            (answer.status, text)
        });
        assert_eq!((theirs.0, &theirs), (404, &nobodys));
    }
    assert_eq!(listed(&beta, ""), []);
    let since = made["started_ms"].as_u64().unwrap();
    let cursor = skill.trim_start_matches("run_");
    for query in [format!("?cursor={cursor}"), format!("?since={since}")] {
        assert_eq!(listed(&beta, &query), []);
    }
    // A key sees the runs that it could have made.
    let ids =
        |client: &Client| listed(client, "").into_iter().map(|(id, _)| id).collect::<Vec<_>>();
    assert_eq!(ids(&acme), [skill.clone(), code.clone()]);
    assert_eq!(ids(&key(&place, &server, "acme", "code")), std::slice::from_ref(&code));
    let runs_skills = key(&place, &server, "acme", "execute");
    assert_eq!(ids(&runs_skills), std::slice::from_ref(&skill));
    for path in [format!("/v1/runs/{code}"), format!("/v1/runs/{code}/log")] {
        assert_eq!(runs_skills.get(&path).status, 404, "{path}");
    }
    let none = key(&place, &server, "acme", "discover,blobs,admin");
    for path in ["/v1/runs".to_owned(), format!("/v1/runs/{code}"), format!("/v1/runs/{code}/log")]
    {
        let answer = none.get(&path);
        assert_eq!((answer.status, answer.error().1.as_str()), (403, "forbidden"), "{path}");
    }
    assert_eq!(server.client().get("/v1/runs").status, 401);
}

#[test]
fn a_kill_loses_no_record_of_a_run_that_was_answered_a_moment_before() {
    let place = Command::new();
    let data = place.folder().join("data");
    let mut answered: Vec<(String, Instant)> = Vec::new();
    for round in 0..3_u64 {
        let server = TestServer::start_on(&data, &["--set", "records.max_age=0"]);
        let stop = Arc::new(AtomicBool::new(false));
        let done = Arc::new(Mutex::new(Vec::new()));
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let (client, stop, done) = (server.client(), Arc::clone(&stop), Arc::clone(&done));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let result = client.run("print('x' * 100)");
                        done.lock().unwrap().push((id_of(&result), Instant::now()));
                    }
                })
            })
            .collect();
        thread::park_timeout(DURABLE_AFTER + Duration::from_millis(700 + 337 * round));
        let killed = Instant::now();
        server.process().kill();
        stop.store(true, Ordering::Relaxed);
        // Their last calls fail, as there is no server.
        clients.into_iter().for_each(|client| drop(client.join()));
        server.wait();
        let done = done.lock().unwrap();
        let safe = done.iter().filter(|(_, at)| killed.duration_since(*at) >= DURABLE_AFTER);
        let before = answered.len();
        answered.extend(safe.cloned());
        assert!(answered.len() > before + 5, "only {} runs in this round", done.len());
    }
    let server = TestServer::start_on(&data, &["--set", "records.max_age=0"]);
    let client = server.client();
    let (mut found, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let page = page(&client, &format!("?limit=1000{cursor}"));
        let runs = page["runs"].as_array().unwrap();
        found.extend(runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let lost: Vec<_> = answered.iter().filter(|(id, _)| !found.contains(id)).collect();
    assert!(lost.is_empty(), "{} of {} are lost: {lost:?}", lost.len(), answered.len());
    let (id, _) = &answered[0];
    assert_eq!(log_of(&client, id), format!("{}\n", "x".repeat(100)));
}

#[test]
fn a_stop_writes_all_records() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &[]);
    let client = server.client();
    let ids: Vec<String> = (0..20).map(|_| id_of(&client.run("1"))).collect();
    drop(server);
    let data = data.to_str().unwrap();
    let listed = place.run(&["--data-dir", data, "runs", "list", "--json"]).with(0).json();
    let found: BTreeSet<&str> =
        listed.as_array().unwrap().iter().map(|run| run["run_id"].as_str().unwrap()).collect();
    assert_eq!(found.len(), 20);
    assert!(ids.iter().all(|id| found.contains(id.as_str())));
}

#[test]
fn records_without_secrets_and_arguments_only_if_asked_for() {
    const VALUE: &str = "canary-5d1f0a-records-93b2";
    let skills = SkillFolder::new();
    let source = "import os, sys\n\
        def main(args):\n    value = os.environ['ACME_KEY']\n    print('the key is', value)\n    \
        print(value.encode().hex(), file=sys.stderr)\n    raise ValueError('no: ' + value)\n";
    skills.action("acme.keys", "1.0.0", source);
    let manifest = fs::read_to_string(skills.at("acme.keys/skill.toml")).unwrap();
    let manifest = format!("{manifest}\n[permissions]\nsecrets = [\"ACME_KEY\"]\n");
    skills.file("acme.keys/skill.toml", manifest);
    let arguments = ["--skills", skills.path(), "--set", "records.arguments=true"];
    let server = TestServer::start_in(&arguments, &[("WARDIAN_SECRET_ACME_KEY", VALUE)]);
    let client = server.client();
    let args = json!({"plain": "in-the-record", "copied": format!("{VALUE}!")});
    let id = id_of(&client.execute("acme.keys", args));
    let made = record(&client, &id);
    assert_eq!(made["error"]["type"], "ValueError");
    assert_eq!(made["arguments"]["value"]["plain"], "in-the-record");
    assert_eq!(made["arguments"]["value"]["copied"], format!("{}!", "*".repeat(VALUE.len())));
    let log = log_of(&client, &id);
    assert!(log.contains(&format!("the key is {}", "*".repeat(VALUE.len()))), "{log}");
    let data = server.data_dir();
    let forms = [VALUE.to_owned(), data_encoding::HEXLOWER.encode(VALUE.as_bytes())];
    let mut is_searched = false;
    for name in ["records.db", "records.db-wal"] {
        let bytes = fs::read(data.join(name)).unwrap();
        let has = |form: &str| bytes.windows(form.len()).any(|part| part == form.as_bytes());
        for form in &forms {
            assert!(!has(form), "{name} has {form}");
        }
        is_searched |= has("in-the-record");
    }
    assert!(is_searched, "the search finds nothing");
}

#[test]
fn old_records_go_and_those_of_other_tenants_stay() {
    let place = Command::new();
    let server = TestServer::start(&[
        "--set",
        "auth.mode=keys",
        "--set",
        "workers.require_lockdown=false",
        "--set",
        "records.max_count=5",
        "--set",
        "records.max_log=10",
    ]);
    let acme = key(&place, &server, "acme", "code");
    let beta = key(&place, &server, "beta", "code");
    let kept: Vec<String> = (0..3).map(|_| id_of(&beta.run("print('a' * 25)"))).collect();
    let ids: Vec<String> = (0..12).map(|_| id_of(&acme.run("1"))).collect();
    record(&acme, &ids[11]);
    let left = eventually(PATIENCE, || {
        let left = listed(&acme, "");
        (left.len() == 5).then_some(left)
    });
    let left: BTreeSet<String> = left.into_iter().map(|(id, _)| id).collect();
    assert_eq!(left, ids[7..].iter().cloned().collect());
    assert_eq!(acme.get(&format!("/v1/runs/{}", ids[0])).status, 404);
    assert_eq!(listed(&beta, "").len(), 3);
    assert_eq!(log_of(&beta, &kept[0]), "a".repeat(10));
    let log = &record(&beta, &kept[0])["log"];
    assert_eq!((&log["bytes"], &log["cut_bytes"]), (&json!(10), &json!(16)), "{log}");
}

/// A disk that takes no more bytes: files may not become longer than they are.
#[test]
fn a_full_disk_costs_no_run_and_records_are_written_later() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let first = id_of(&client.run("1"));
    record(&client, &first);
    let process = Pid::from_raw(i32::try_from(server.process().id).unwrap());
    let limit = |most| Rlimit { current: most, maximum: None };
    let before = prlimit(process, Resource::Fsize, limit(Some(4_096))).unwrap();
    let ids: Vec<String> = (0..5).map(|_| id_of(&client.run("print(1)"))).collect();
    server.wait_for_log("records of runs cannot be written; this is retried");
    for id in &ids {
        let answer = client.get(&format!("/v1/runs/{id}"));
        assert_eq!((answer.status, answer.error().1.as_str()), (503, "overloaded"), "{answer:?}");
    }
    record(&client, &first);
    prlimit(process, Resource::Fsize, Rlimit { maximum: None, ..before }).unwrap();
    server.wait_for_log("records of runs can be written again");
    for id in &ids {
        assert_eq!(record(&client, id)["outcome"], "completed");
    }
    let warnings = client.get("/readyz").json()["warnings"].to_string();
    assert!(!warnings.contains("records"), "none is lost: {warnings}");
}

/// Types `wardian serve`; it must be refused with one line and exit code 2.
fn refused(place: &Command, arguments: &[&str], says: &[&str]) {
    let arguments = [&["serve", "--listen", "127.0.0.1:0"], arguments].concat();
    let ended = place.run(&arguments).with(2);
    let missing = contained(&ended.stderr, says.iter().copied());
    assert!(missing.is_empty(), "{missing:?}: {}", ended.stderr);
    assert_eq!(ended.stderr.lines().filter(|line| line.contains("error")).count(), 1);
}

#[test]
fn a_database_that_cannot_be_used_stops_the_start_and_stays_as_it_is() {
    let place = Command::new();
    let broken = "no database, but a text that is long enough to be taken for a file of one";
    let path = place.file("data/records.db", broken);
    refused(&place, &[], &["records.db", "damaged", "without records of runs"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), broken);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    refused(&place, &[], &["records.db", "cannot be used"]);
    fs::remove_dir(&path).unwrap();
    // Without records the file is not looked at.
    let data = place.folder().join("off");
    place.file("off/records.db", broken);
    let server = TestServer::start_on(&data, &["--set", "records.enabled=false"]);
    server.client().run("1");
    let answer = server.client().get("/v1/runs");
    assert_eq!((answer.status, answer.error().1.as_str()), (404, "run_not_found"));
    assert_eq!(fs::read_to_string(data.join("records.db")).unwrap(), broken);
}

#[test]
fn the_command_line_shows_the_same_from_the_folder_and_from_the_server() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(&data, &["--skills", &skills()]);
    let client = server.client();
    let code = id_of(&client.run("print('one\\u001b[31m')\nraise KeyError('x')"));
    let skill = id_of(&client.execute("acme.echo", json!({"x": 1})));
    record(&client, &code);
    let made = record(&client, &skill);
    let folder = data.to_str().unwrap();
    let url = format!("http://{}", server.address);
    let places: [&[&str]; 2] = [&["--data-dir", folder], &["--server", &url]];
    for (at, more) in places.into_iter().enumerate() {
        let run = |arguments: &[&str]| place.run(&[&["runs"], arguments, more].concat());
        let table = run(&["list"]).with(0).stdout;
        assert!(table.starts_with("RUN "), "{table}");
        let rows: Vec<&str> = table.lines().skip(1).collect();
        assert!(rows[0].starts_with(&skill) && rows[0].contains("acme.echo@"), "{table}");
        assert!(rows[1].starts_with(&code) && rows[1].contains("exception: KeyError"), "{table}");
        let one = run(&["list", "--outcome", "exception", "--limit", "1", "--json"]).with(0).json();
        assert_eq!((one.as_array().unwrap().len(), &one[0]["run_id"]), (1, &json!(code)));
        let none = run(&["list", "--skill", "acme.faulty", "--since", "2h"]).with(0).stdout;
        assert_eq!(none, "there are no such runs\n");
        assert_eq!(run(&["show", &skill, "--json"]).with(0).json(), made, "{at}");
        let shown = run(&["show", &code]).with(0).stdout;
        let says = ["outcome     exception", "KeyError", "tenant local", "prepare ", "run_code "];
        assert!(contained(&shown, says).is_empty(), "{shown}");
        assert_eq!(run(&["logs", &code]).with(0).stdout, "one\u{1b}[31m\n");
        let pieces = run(&["logs", &code, "--json"]).with(0).json();
        assert_eq!(pieces[0]["stream"], "stdout");
        let unknown = format!("run_{}", "0".repeat(32));
        for command in ["show", "logs"] {
            let refused = run(&[command, &unknown]).with(2).stderr;
            assert!(refused.contains("there is no record of a run"), "{refused}");
        }
        assert!(run(&["show", "x"]).with(2).stderr.contains("run id must be"));
        assert!(run(&["list", "--outcome", "lost"]).with(2).stderr.contains("completed, "));
    }
    let other = place.run(&["--data-dir", folder, "runs", "list", "--tenant", "beta"]).with(0);
    let told = "tenant `beta` has no such runs; tenant `local` does: `--tenant local`\n";
    assert_eq!(other.stdout, told);
    for command in ["show", "logs", "record"] {
        let arguments = ["--data-dir", folder, "runs", command, &code, "--tenant", "beta"];
        let refused = place.run(&arguments).with(2).stderr;
        let hint = "of this tenant; it belongs to tenant `local`: `--tenant local`";
        assert!(refused.contains(hint), "{refused}");
    }
    let all = ["--data-dir", folder, "runs", "list", "--all-tenants"];
    let all_json = place.run(&[&all[..], &["--json"]].concat()).with(0).json();
    assert!(all_json.as_array().unwrap().iter().all(|run| run["tenant"] == "local"), "{all_json}");
    assert!(all_json.as_array().unwrap().iter().any(|run| run["run_id"] == json!(code)));
    assert!(place.run(&all).with(0).stdout.starts_with("TENANT"), "a column of tenants");
    let empty = place.folder().join("empty");
    let none = place.run(&["--data-dir", empty.to_str().unwrap(), "runs", "list"]).with(2).stderr;
    assert!(none.contains("has no records of runs") && none.contains("--server"), "{none}");
    assert!(!empty.try_exists().unwrap(), "nothing is made");
}
