//! The memory of the gateway, measured from outside, under hostile clients and guests.

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{
    Connection, SkillFolder, TestServer, Watched, eventually, failed, output, repository,
};

const HEADERS: &str = "Host: localhost\r\nContent-Type: application/json\r\n";
const GUIDE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide"}"#;
const MIB: u64 = 1 << 20;

/// Samples the memory of a server repeatedly.
struct Watch {
    goes_on: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
    before: u64,
}

impl Watch {
    fn begin(server: &'static TestServer) -> Self {
        let before = server.process().memory("VmRSS");
        let (goes_on, peak) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(before)));
        let (watched, highest) = (Arc::clone(&goes_on), Arc::clone(&peak));
        thread::spawn(move || {
            while watched.load(Ordering::Acquire) {
                highest.fetch_max(server.process().memory("VmRSS"), Ordering::AcqRel);
                thread::park_timeout(Duration::from_millis(1));
            }
        });
        Self { goes_on, peak, before }
    }

    /// The largest memory since the beginning.
    fn peak(&self) -> u64 {
        self.peak.load(Ordering::Acquire)
    }

    /// How much more than at the beginning that is.
    fn growth(&self) -> u64 {
        self.peak() - self.before
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Release);
    }
}

/// A server that lives as long as the watches that look at it; it is stopped by `finish`.
fn start(arguments: &[&str]) -> &'static TestServer {
    Box::leak(Box::new(TestServer::start(arguments)))
}

/// Stops a server that was started for good.
fn finish(server: &TestServer) {
    server.process().terminate();
    assert_eq!(server.wait().code(), Some(0), "{}", server.log());
}

/// The text of a list of so many small objects, some hundred times as large as a tree.
fn forest(objects: usize) -> String {
    let mut text = "[".to_owned();
    text.push_str(&r#"{"":0},"#.repeat(objects - 1));
    text.push_str(r#"{"":0}]"#);
    text
}

/// Waits until the server holds little more than at the beginning.
fn returns_to(server: &TestServer, before: u64) {
    eventually(Duration::from_secs(60), || {
        (server.process().memory("VmRSS") <= before + 48 * MIB).then_some(())
    });
}

#[test]
fn a_returned_forest_never_becomes_a_tree_in_the_gateway() {
    let server = start(&[]);
    let client = server.client();
    output(&client.run("def main(args): return 1"));
    for returned in [
        r#"{"summary": [{"": 0}] * 1_000_000}"#,
        r#"{"summary": {"a": [{"": 0}] * 1_000_000}}"#,
        r#"{str(n): 0 for n in range(1_000_000)}"#,
        r#"[{"": 0}] * 1_000_000"#,
    ] {
        let watch = Watch::begin(server);
        // On a busy machine the program takes a while.
        let patience = json!({"limits": {"timeout_ms": 115_000}});
        let result = client.run_with(&format!("def main(args): return {returned}"), patience);
        assert_eq!(result["output_truncated"], true, "{returned}: {result:.300}");
        let growth = watch.growth();
        assert!(growth < 120 * MIB, "{returned} took {} MiB", growth / MIB);
        returns_to(server, watch.before);
    }
    finish(server);
}

#[test]
fn arguments_never_become_a_tree_in_the_gateway() {
    let skills = repository("tests/it/skills");
    let server = start(&["--skills", skills.to_str().unwrap()]);
    let client = server.client();
    client.execute("acme.inputs", json!({"text": "t"}));
    let forest = forest(950_000);
    for args in [
        format!(r#"{{"text":"t","rows":{forest}}}"#),
        format!(r#"{{"text":"t","unknown":{forest}}}"#),
        format!(r#"{{"text":"t","mode":{forest}}}"#),
        format!(r#"{{"text":"t","options":{{"a":{forest}}}}}"#),
    ] {
        let watch = Watch::begin(server);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"execute_skill","params":{{"name":"acme.inputs","args":{args}}}}}"#
        );
        let answer = client.post(&body).json();
        assert!(answer.get("result").or(answer.get("error")).is_some(), "{answer:.300}");
        let growth = watch.growth();
        assert!(growth < 64 * MIB, "{args:.20} took {} MiB", growth / MIB);
        returns_to(server, watch.before);
    }
    finish(server);
}

/// A batch that reads a blob again and again.
fn batch_of_reads(blob: &str, calls: usize) -> String {
    let params = json!({"blob_id": blob, "mode": "full", "max_bytes": MIB});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "read_blob", "params": params});
    format!("[{}]", vec![call.to_string(); calls].join(","))
}

/// Sends a call on a connection whose answer is not read.
fn ask_and_not_listen(server: &TestServer, body: &str) -> Connection {
    let mut connection = server.connect();
    let length = body.len();
    connection.send(format!("POST /rpc HTTP/1.1\r\nContent-Length: {length}\r\n{HEADERS}\r\n"));
    connection.send(body);
    connection
}

#[test]
fn answers_that_are_not_taken_are_charged_and_given_up_early() {
    let server = start(&[
        "--set",
        "http.memory=160 MiB",
        "--set",
        // Long enough for many answers to wait at once, however slowly a busy machine makes them.
        "http.stall_timeout=15 s",
        // Nothing else ends a connection whose client takes nothing.
        "--set",
        "http.write_timeout=1 h",
    ]);
    let blob = server.client().create_bytes(&[0x80; 1 << 20], "application/octet-stream");
    let body = batch_of_reads(&blob, 16);
    let watch = Watch::begin(server);
    let connections: Vec<Connection> = (0..64).map(|_| ask_and_not_listen(server, &body)).collect();
    // Answers wait. A system's buffers take the beginning of each, so it is less than the budget by a third.
    eventually(Duration::from_secs(60), || (watch.growth() > 64 * MIB).then_some(()));
    // Others are served meanwhile, because small calls have a part of their own.
    for _ in 0..10 {
        let answer = server.client().post(GUIDE);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    // The clients are still there and have taken nothing.
    returns_to(server, watch.before);
    let growth = watch.growth();
    assert!(growth < 204 * MIB, "the answers took {} MiB", growth / MIB);
    drop(connections);
    let read = server.client().call("read_blob", json!({"blob_id": blob, "mode": "full"}));
    assert_eq!(read.unwrap()["size_bytes"], MIB, "the budget is free again");
    finish(server);
}

#[test]
fn calls_of_a_batch_beyond_its_bound_are_refused_one_by_one() {
    let client = TestServer::shared().client();
    let blob = client.create_bytes(&[0x81; 1 << 20], "application/octet-stream");
    let answers = client.post(batch_of_reads(&blob, 12)).json();
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 12);
    let refused: Vec<&Value> =
        answers.iter().filter(|answer| answer["error"].is_object()).collect();
    assert!((4..8).contains(&refused.len()), "{} were refused", refused.len());
    for answer in refused {
        assert_eq!(answer["error"]["data"]["kind"], "too_large", "{answer}");
    }
}

#[test]
fn a_body_beyond_the_budget_is_refused_and_can_be_repeated() {
    let server = start(&["--set", "http.memory=80 MiB"]);
    let half = format!("{}{}", GUIDE, " ".repeat(10 << 20));
    let mut holders: Vec<Connection> = Vec::new();
    for _ in 0..4 {
        let mut connection = server.connect();
        let length = half.len() + 1;
        let head = format!("POST /rpc HTTP/1.1\r\nContent-Length: {length}\r\n{HEADERS}\r\n");
        connection.send(head);
        connection.try_send(&half).ok();
        holders.push(connection);
    }
    let head = format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n{HEADERS}\r\n", 12 << 20);
    // The server does not read the rest of the body at once.
    let reply = eventually(Duration::from_secs(60), || {
        let reply = server.connect().send(&head).reply_within(Duration::from_secs(2))?;
        (reply.status == 503).then_some(reply)
    });
    assert_eq!(reply.kind(), "overloaded");
    assert!(!reply.header("retry-after").is_empty(), "{reply:?}");
    assert!(reply.json()["error"]["data"]["retry_after_ms"].is_u64());
    drop(holders);
    eventually(Duration::from_secs(60), || {
        let answer = server.client().try_post(format!("{}{}", GUIDE, " ".repeat(12 << 20)));
        answer.is_ok_and(|answer| answer.status == 200).then_some(())
    });
    finish(server);
}

#[test]
fn memory_of_a_burst_is_given_back_although_some_of_it_stays_in_use() {
    let server = start(&["--set", "http.body_timeout=1 h"]);
    let watch = Watch::begin(server);
    // Bodies that do not end, each too small for a mapping of its own.
    let begun = " ".repeat(100 << 10);
    let head =
        format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n{HEADERS}\r\n", begun.len() + 1);
    let mut connections: Vec<Connection> = (0..800)
        .map(|_| {
            let mut connection = server.connect();
            connection.send(&head);
            connection.send(&begun);
            connection
        })
        .collect();
    eventually(Duration::from_secs(60), || (watch.growth() > 96 * MIB).then_some(()));
    // Some stay, so that the heap cannot shrink from its end.
    let mut number = 0;
    connections.retain(|_| {
        number += 1;
        number % 50 == 0
    });
    returns_to(server, watch.before);
    drop(connections);
    finish(server);
}

#[test]
fn what_a_call_reads_is_charged_before_it_is_read() {
    const KIB: usize = 1 << 10;
    let skills = SkillFolder::new();
    skills.instruction("acme.long", "1.0.0");
    skills.file("acme.long/table.bin", vec![0xff; 300 * KIB]);
    let document = std::fs::read_to_string(skills.at("acme.long/SKILL.md")).unwrap();
    skills.file("acme.long/SKILL.md", document + &"word ".repeat(60 * KIB));
    let server = start(&[
        "--skills",
        skills.path(),
        "--set",
        "http.memory=64 MiB",
        "--set",
        "http.max_body=12 MiB",
        "--set",
        "http.body_timeout=1 h",
    ]);
    let client = server.client();
    let blob = client.create_bytes(&[0x83; 1 << 20], "application/octet-stream");
    let calls = [
        ("read_blob", json!({"blob_id": blob, "mode": "full", "max_bytes": MIB})),
        ("describe_skill", json!({"name": "acme.long", "detail": "full"})),
        ("read_skill_file", json!({"name": "acme.long", "path": "table.bin"})),
    ];
    for (method, params) in &calls {
        client.call(method, params.clone()).unwrap();
    }
    // Bodies that do not end hold all but 128 KiB of what large charges may use: each byte costs
    // four, and an eighth is kept for small charges.
    let holders: Vec<Connection> = [11 << 20, (3 << 20) - 32 * KIB]
        .map(|sent| {
            let mut connection = server.connect();
            let head =
                format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n{HEADERS}\r\n", sent + 1);
            connection.send(head);
            connection.send(" ".repeat(sent));
            connection
        })
        .into();
    // All of them have arrived when a body of 64 KiB is refused by its head.
    let head = format!("POST /rpc HTTP/1.1\r\nContent-Length: {}\r\n{HEADERS}\r\n", 64 * KIB);
    eventually(Duration::from_secs(60), || {
        let reply = server.connect().send(&head).reply_within(Duration::from_millis(300))?;
        (reply.status == 503).then_some(())
    });
    for (method, params) in calls {
        let refusal = client.refusal(method, params);
        assert_eq!(refusal.kind, "overloaded", "{method}: {refusal:?}");
        // It must not be made before it is refused.
        assert!(!refusal.message.contains("was executed"), "{method}: {refusal:?}");
    }
    drop(holders);
    finish(server);
}

/// Watches the memory of a process that belongs to it alone, until it is dropped.
struct Private {
    goes_on: Arc<AtomicBool>,
    peak: Arc<AtomicU64>,
}

impl Private {
    fn watch(id: u32) -> Self {
        let (goes_on, peak) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU64::new(0)));
        let (watched, highest) = (Arc::clone(&goes_on), Arc::clone(&peak));
        thread::spawn(move || {
            let process = Watched::of(id).unwrap();
            while watched.load(Ordering::Acquire) {
                highest.fetch_max(process.memory("RssAnon"), Ordering::AcqRel);
                thread::park_timeout(Duration::from_millis(1));
            }
        });
        Self { goes_on, peak }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Release);
    }
}

/// Makes a file, says so, and has it stored: by hand, or by leaving it behind.
const STORES: &str = "
import os, time
from runtime import blobs

def main(args):
    piece = os.urandom(1 << 20)
    with open('/workspace/data.bin', 'wb') as file:
        for _ in range(150):
            file.write(piece)
    blobs.write_text(args['mark'])
    time.sleep(1)
    if args['by_hand']:
        blobs.write_file('/workspace/data.bin')
";

#[test]
fn a_file_that_becomes_a_blob_is_not_copied_in_the_worker() {
    let server = start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    for by_hand in [true, false] {
        let worker = server.workers().pop().unwrap();
        let mark = format!("a file is about to be stored: {by_hand}");
        let (written, peak) = thread::scope(|scope| {
            let args = json!({"mark": mark, "by_hand": by_hand});
            let params = json!({"args": args, "keep_files": !by_hand});
            let client = &client;
            let run = scope.spawn(move || client.run_with(STORES, params));
            let id = TestServer::shared().client().create_text(&mark, "text/plain");
            eventually(Duration::from_secs(60), || {
                client.call("read_blob", json!({"blob_id": id})).ok()
            });
            let before = worker.memory("RssAnon");
            let watch = Private::watch(worker.id);
            let result = run.join().unwrap();
            assert_eq!(result["output_blobs"].as_array().unwrap().len(), 2, "{result:#}");
            (before, watch.peak.load(Ordering::Acquire))
        });
        let copied = peak.saturating_sub(written);
        assert!(written > 150 * MIB, "the file takes {} MiB", written / MIB);
        assert!(copied < 32 * MIB, "storing it took {} MiB more: {by_hand}", copied / MIB);
    }
    finish(server);
}

/// Fills its own memory and its workspace, and has the file of the workspace stored.
const FULL: &str = "
import os
from runtime import HostCallLimit, blobs

def main(args):
    with open('/workspace/data.bin', 'wb') as file:
        for _ in range(args['file']):
            file.write(os.urandom(1 << 20))
    held = b'x' * (args['memory'] << 20)
    try:
        blobs.write_file('/workspace/data.bin')
        return 'stored'
    except HostCallLimit as refused:
        return str(refused)
";

#[test]
fn a_blob_is_handed_over_within_the_memory_of_the_run_or_not_at_all() {
    let client = TestServer::shared().client();
    let limits = json!({"memory_bytes": 256 * MIB, "workspace_bytes": 96 * MIB});
    let run = |file: u64, memory: u64| {
        let params = json!({"args": {"file": file, "memory": memory}, "limits": limits});
        output(&client.run_with(FULL, params))["result"].as_str().unwrap().to_owned()
    };
    // The interpreter takes some 90 MiB of the 256.
    assert_eq!(run(80, 10), "stored");
    assert_eq!(run(20, 120), "stored");
    let refused = run(80, 120);
    assert!(refused.contains("the same amount of memory again"), "{refused}");
}

#[test]
fn the_longest_log_that_can_be_configured_arrives_whatever_is_in_it() {
    let server = start(&[
        "--workers",
        "1",
        "--set",
        "workers.spares=0",
        "--set",
        "limits.max.logs=16 MiB",
        "--set",
        "limits.logs=16 MiB",
    ]);
    let client = server.client();
    let worker = server.workers().pop().unwrap().id;
    for piece in ["'\\x01'", "'\"'", "b'\\xff'", "'\\N{SNOWMAN}'"] {
        let code = format!(
            "import sys\ndef main(args):\n    text = {piece} * (16 << 20)\n    \
             text = text if isinstance(text, bytes) else text.encode()\n    \
             sys.stdout.buffer.write(text[:16 << 20])\n    return 7\n"
        );
        let watch = Watch::begin(server);
        let result = client.run(&code);
        assert_eq!(output(&result)["result"], 7, "{piece}");
        assert_eq!(result["logs_truncated"], true);
        let growth = watch.growth();
        assert!(growth <= 98 * 5 / 2 * MIB, "{piece} took {} MiB", growth / MIB);
    }
    assert_eq!(server.workers().pop().unwrap().id, worker, "{}", server.log());
    finish(server);
}

/// Sends a call and reads what comes back, whatever it is: the server may refuse it at any point.
fn post_somehow(address: &str, body: &str) {
    let exchange = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let length = body.len();
        let head =
            format!("POST /rpc HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n");
        stream.write_all(format!("{head}{HEADERS}\r\n{body}").as_bytes())?;
        std::io::copy(&mut stream, &mut std::io::sink())?;
        Ok(())
    };
    // A refusal before the body was sent to its end breaks the connection.
    exchange().ok();
}

/// The most that the server says it takes, in bytes.
fn stated(server: &TestServer) -> u64 {
    let line = server.wait_for_log("the gateway takes at most");
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "most").unwrap();
    let number: f64 = words[at + 1].parse().unwrap();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size")]
    let number = (number * 1024.0) as u64;
    match words[at + 2].trim_end_matches(',') {
        "KiB" => number,
        "MiB" => number << 10,
        "GiB" => number << 20,
        other => panic!("a size in {other}: {line}"),
    }
}

/// Bodies of white space, bodies of arguments, content of blobs, outputs with logs, and batches.
fn calls_of_every_kind(blob: &str) -> [String; 5] {
    [
        format!("{GUIDE}{}", " ".repeat(15 << 20)),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"execute_skill","params":{{"name":"acme.inputs","args":{{"x":{}}}}}}}"#,
            forest(1_000_000)
        ),
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"create_blob","params":{{"kind":"a/b","encoding":"base64","content":"{}"}}}}"#,
            "AAAA".repeat(3 << 20)
        ),
        // Outputs and logs.
        json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": {"language": "python",
            "code": "def main(args):\n    print('x' * (1 << 20))\n    return [{'': 0}] * 4_000_000"}})
        .to_string(),
        batch_of_reads(blob, 8),
    ]
}

/// Opens a connection, sends `bytes` on it, and neither sends nor takes any more.
fn send_and_stop(server: &TestServer, bytes: &[u8]) -> Connection {
    let mut connection = server.connect();
    // The server may close it before all was sent.
    connection.try_send(bytes).ok();
    connection
}

/// Beginnings of requests whose clients stop then: a run whose events nobody takes, a head and an
/// upload without an end, and answers that nobody takes.
fn requests_that_stop(server: &TestServer, blob: &str) -> [Vec<u8>; 5] {
    let printed = server.client().run("def main(args): print('x' * (1 << 20))");
    let run = printed["run_id"].as_str().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": {
        "language": "python",
        "code": "def main(args):\n    for _ in range(64):\n        print('\\x01' * (1 << 14))"}});
    let call = call.to_string();
    let events = format!(
        "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{call}",
        call.len()
    );
    let head = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: {}", "a".repeat(15 << 10));
    let mut upload =
        b"PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n".to_vec();
    upload.extend(vec![0x83; 400_000]);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
    let blob = get(&format!("/v1/blobs/{blob}")).repeat(16);
    let log = get(&format!("/v1/runs/{run}/log")).repeat(16);
    [events.into(), head.into(), upload, blob, log]
}

#[test]
fn everything_at_once_stays_within_the_stated_memory() {
    let skills = repository("tests/it/skills");
    let server = start(&[
        "--skills",
        skills.to_str().unwrap(),
        "--set",
        "http.memory=128 MiB",
        "--set",
        "http.max_connections=256",
        "--set",
        "http.stall_timeout=3 s",
        "--set",
        "workers.count=2",
    ]);
    let most = stated(server);
    let blob = server.client().create_bytes(&[0x82; 1 << 20], "application/octet-stream");
    let stopping = requests_that_stop(server, &blob);
    let watch = Watch::begin(server);
    let until = Instant::now() + Duration::from_secs(20);
    let again = |work: Box<dyn Fn() + Send>| {
        thread::spawn(move || {
            while Instant::now() < until {
                work();
            }
        })
    };
    let mut threads = Vec::new();
    for body in calls_of_every_kind(&blob) {
        for _ in 0..3 {
            let (address, body) = (server.address.clone(), body.clone());
            threads.push(again(Box::new(move || post_somehow(&address, &body))));
        }
    }
    // Clients that ask for much and take nothing.
    let reads = batch_of_reads(&blob, 16);
    for _ in 0..16 {
        let reads = reads.clone();
        threads.push(again(Box::new(move || {
            let _connection = ask_and_not_listen(server, &reads);
            thread::park_timeout(Duration::from_secs(2));
        })));
    }
    for bytes in stopping.iter().flat_map(|bytes| vec![bytes.clone(); 12]) {
        threads.push(again(Box::new(move || {
            let _connection = send_and_stop(server, &bytes);
            thread::park_timeout(Duration::from_secs(2));
        })));
    }
    for thread in threads {
        thread.join().unwrap();
    }
    let peak = watch.peak();
    eprintln!("the gateway took {} MiB of {} MiB", peak / MIB, most / MIB);
    assert!(peak <= most, "{} MiB instead of {} MiB", peak / MIB, most / MIB);
    assert!(peak > watch.before + 64 * MIB, "nothing was tried: {} MiB", peak / MIB);
    returns_to(server, watch.before);
    let result = server.client().run("def main(args): raise ValueError('alive')");
    assert_eq!(failed(&result).1, "alive");
    finish(server);
}
