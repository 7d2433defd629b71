//! A run learns nothing of an earlier run, however that has ended.
//!
//! Pairs of programs run on a real server: one leaves marks wherever it can, the next one searches
//! for them. `scripts/leak-pairs` runs the same programs ten thousand times.
#![expect(dead_code, unused_imports, reason = "the support serves other tests as well")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::needless_pass_by_value,
    clippy::panic_in_result_fn,
    reason = "a test may panic; that is how it fails"
)]

#[path = "it/support/mod.rs"]
mod support;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use support::{Client, TestServer, output};

const MARK: &str = include_str!("fixtures/leak/mark.py");
const SEARCH: &str = include_str!("fixtures/leak/search.py");
const CONTROL: &str = include_str!("fixtures/leak/control.py");

/// The ways in which a run that has left marks ends.
static ENDINGS: LazyLock<Vec<Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("fixtures/leak/endings.json")).unwrap());

/// How often each of them is tried.
const TURNS: usize = 5;

/// How every canary starts; nothing else has these letters in this order.
const PREFIX: &str = "xqzjvkwbhxqzjvkwbh";

/// Programs get canaries in a form that no search takes for one.
fn masked(text: &str) -> String {
    let bytes: Vec<u8> = text.bytes().map(|byte| byte ^ 0x5a).collect();
    HEXLOWER.encode(&bytes)
}

/// What a completed run returned, also if that was too long for its result.
fn whole_output(client: &Client, result: &Value) -> Value {
    let output = output(result);
    match output["blob_id"].as_str() {
        Some(blob) => serde_json::from_slice(&client.read_bytes(blob)).unwrap(),
        None => output.clone(),
    }
}

fn arguments(sizes: [u32; 2], more: Value) -> Value {
    let mut args = json!({"fill_mib": sizes[0], "fresh_mib": sizes[1], "needle": masked(PREFIX)});
    args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "args": args })
}

const SMALL: [u32; 2] = [2, 8];
const LARGE: [u32; 2] = [200, 200];

/// Runs the search; returns what it has found, and all settings.
fn search(client: &Client, sizes: [u32; 2], limits: Value) -> Value {
    let mut params = arguments(sizes, json!({}));
    params["limits"] = limits;
    whole_output(client, &client.run_with(SEARCH, params))
}

/// Waits until fuel can be counted: the first request for it has code compiled in the background.
fn await_fuel(client: &Client) {
    const PATIENCE: Duration = Duration::from_secs(900);
    let started = Instant::now();
    loop {
        let params = json!({"language": "python", "code": "def main(): ...", "limits": {"fuel": 1_000_000_000_u64}});
        match client.call("run_code", params) {
            Err(refused) if refused.message.contains("is being compiled") => {
                assert!(started.elapsed() < PATIENCE, "{refused:?}");
                thread::park_timeout(Duration::from_secs(2));
            }
            _ => return,
        }
    }
}

/// The pairs of one server.
struct Pairs {
    server: TestServer,
    /// The result of a search on a fresh server.
    pristine: Value,
    /// Random values; none may come twice.
    seen: Mutex<HashSet<String>>,
    next: AtomicUsize,
}

impl Pairs {
    fn new() -> Self {
        let server = TestServer::start(&["--workers", "2", "--set", "workers.spares=0"]);
        await_fuel(&server.client());
        let pristine = search(&server.client(), SMALL, json!({}));
        let pairs = Self { server, pristine, seen: Mutex::default(), next: AtomicUsize::default() };
        pairs.check(&pairs.pristine, "nothing");
        pairs
    }

    /// Checks what a search has seen.
    fn check(&self, seen: &Value, ending: &str) {
        assert_eq!(seen["found"], json!({}), "after `{ending}`");
        for (name, value) in seen["settings"].as_object().unwrap() {
            assert_eq!(value, &self.pristine["settings"][name], "`{name}` after `{ending}`");
        }
        self.note_fresh(seen);
    }

    fn note_fresh(&self, seen: &Value) {
        for (name, value) in seen["fresh"].as_object().unwrap() {
            let is_new = self.seen.lock().unwrap().insert(format!("{name} {value}"));
            assert!(is_new, "{name} gave {value} twice");
        }
    }

    /// The next pair; false if all have been.
    fn run_next(&self) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let is_left = number < TURNS * ENDINGS.len();
        if is_left {
            self.run_pair(number);
        }
        is_left
    }

    /// One run that leaves marks and one that looks for them.
    fn run_pair(&self, number: usize) {
        let client = self.server.client();
        let (turn, ending) = (number / ENDINGS.len(), &ENDINGS[number % ENDINGS.len()]);
        let end = ending["end"].as_str().unwrap();
        let sizes = if turn == 1 { LARGE } else { SMALL };
        let canary = masked(&format!("{PREFIX}-{number}"));
        let mut params = arguments(sizes, json!({"canary": canary, "end": end}));
        params
            .as_object_mut()
            .unwrap()
            .extend(ending["params"].as_object().cloned().unwrap_or_default());
        if ending["hang_up_ms"].is_u64() {
            self.hang_up_on(params);
        } else if self.leave_marks(&client, params, ending).is_none() {
            return;
        }
        let limits = match (&ending["params"]["limits"], turn % 2) {
            (Value::Object(_), 1) => json!({"fuel": 1_000_000_000_000_u64}),
            _ => json!({}),
        };
        self.check(&search(&client, sizes, limits), end);
    }

    /// Nothing if the ending needs code that counts fuel, and the server has none.
    fn leave_marks(&self, client: &Client, mut params: Value, ending: &Value) -> Option<()> {
        let asked = params["limits"]["fuel"].is_u64();
        let more = json!({"language": "python", "code": MARK});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let result = match client.call("run_code", params) {
            Err(refused) if asked && refused.message.contains("engine install --metered") => {
                return None;
            }
            answer => answer.unwrap(),
        };
        let end = result["error"]["type"].as_str().unwrap_or("completed");
        let expected = ending["expect"].as_str().unwrap();
        match expected {
            "any failure" => assert_ne!(end, "completed", "{result}"),
            _ => assert_eq!(end, expected, "{result}"),
        }
        if end == "completed" {
            self.note_fresh(&whole_output(client, &result));
        }
        Some(())
    }

    /// Starts a run and goes away.
    fn hang_up_on(&self, mut params: Value) {
        params["language"] = "python".into();
        params["code"] = MARK.into();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
        let call = call.to_string();
        let mut connection = self.server.connect();
        connection.send(format!(
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{call}",
            call.len()
        ));
        // Long enough for some marks; how many does not matter.
        thread::park_timeout(Duration::from_millis(200));
    }
}

#[test]
fn nothing_of_a_run_is_left_for_the_next() {
    let pairs = Pairs::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| while pairs.run_next() {});
        }
    });
    assert!(pairs.seen.lock().unwrap().len() >= TURNS * 11 * 7);
}

/// `scripts/leak-pairs` in short, on each path on which the two runs of a pair have different
/// workers or different tenants.
#[test]
fn nothing_of_a_run_is_left_for_another_tenant_or_in_a_new_worker() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/leak-pairs");
    for (path, workers) in [("changed", "2"), ("started", "2"), ("shared", "2"), ("replaced", "1")]
    {
        let ended = std::process::Command::new(script)
            .args(["--json", "--pairs", "24", "--path", path, "--workers", workers])
            .args(["--wardian", support::WARDIAN])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "{path}: {said}\n{complaint}");
        let summary: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&summary["pairs"], &summary["hits"]), (&json!(24), &json!(0)), "{said}");
        // Ids of what the first run left were asked for, unless both runs were of one tenant.
        assert_eq!(summary["ids_asked_for"] == 0, path == "replaced", "{said}");
    }
}

/// True for a process that runs guests: a server also starts some that make images.
fn is_worker(process: &support::Watched) -> bool {
    let command = std::fs::read(format!("/proc/{}/cmdline", process.id)).unwrap_or_default();
    command.split(|byte| *byte == 0).nth(1) == Some(b"worker")
}

/// Has the kernel collapse the memory of workers into huge pages, as far as it lets itself.
fn collapse(workers: &[support::Watched]) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/collapse.py");
    let mut command = std::process::Command::new("python3");
    command.arg(script).arg("0");
    for worker in workers.iter().filter(|process| is_worker(process)) {
        command.arg(worker.id.to_string());
    }
    let told = command.output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    serde_json::from_slice(&told.stdout).unwrap()
}

/// Only root may tell the kernel such things of other processes.
#[test]
fn nothing_is_left_when_the_kernel_collapses_memory_between_runs() {
    let pairs = Pairs::new();
    let told = thread::scope(|scope| {
        let pairs_of_runs = scope.spawn(|| {
            while pairs.next.load(Ordering::Relaxed) < 2 * ENDINGS.len() && pairs.run_next() {}
        });
        let mut told = Vec::new();
        while !pairs_of_runs.is_finished() {
            told.push(collapse(&pairs.server.workers()));
        }
        pairs_of_runs.join().unwrap();
        told
    });
    let is_root = rustix::process::geteuid().is_root();
    if is_root && told[0]["offered"] == true {
        let tried: u64 = told.iter().map(|told| told["tried"].as_u64().unwrap()).sum();
        assert!(tried > 0, "{told:?}");
        // Workers have forbidden it, in the mappings and for the process.
        assert!(told.iter().all(|told| told["done"] == 0), "{told:?}");
    }
}

#[test]
fn a_mark_in_any_place_is_seen_by_the_search() {
    let server = TestServer::start(&["--workers", "1", "--set", "workers.spares=0"]);
    let client = server.client();
    let pristine = search(&client, SMALL, json!({}));
    let everything = arguments(SMALL, json!({"canary": masked("x"), "end": "return"}));
    let marked = whole_output(&client, &client.run_with(MARK, everything));
    let places: Vec<&str> =
        marked["left"].as_array().unwrap().iter().map(|place| place.as_str().unwrap()).collect();
    assert!(places.len() >= 29, "{places:?}");
    let program = [MARK, SEARCH, CONTROL].join("\n");
    for place in places {
        let canary = masked(&format!("{PREFIX}-control"));
        let args = arguments(SMALL, json!({"canary": canary, "places": [place]}));
        let [one, other] =
            [(); 2].map(|()| whole_output(&client, &client.run_with(&program, args.clone())));
        let label = if place == "temporary" { "files" } else { place };
        let is_seen = match place {
            "chance" => one["fresh"]["random"] == other["fresh"]["random"],
            _ => {
                one["found"].get(label).is_some()
                    || one["settings"][label] != pristine["settings"][label]
            }
        };
        assert!(is_seen, "a mark in `{place}` is not seen: {one}");
    }
}
