//! Reproducible runs: every repetition gives the same result, log, files and fuel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::images::cache_without_images;
use crate::support::{
    Client, Command, TestServer, contained, eventually, failed, output, repository,
};

/// A program that looks for a source of time or chance in its own way.
struct Program {
    code: String,
    /// Further parameters of its call.
    params: Value,
}

/// All programs by name: that of their file, which is their topic, and their own. Each begins with a
/// line `#% name` or `#% name {parameters}`.
static PROGRAMS: LazyLock<BTreeMap<String, Program>> = LazyLock::new(|| {
    let folder = repository("tests/fixtures/reproducible");
    let mut programs = BTreeMap::new();
    for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let topic = file.file_stem().unwrap().to_str().unwrap();
        let text = format!("\n{}", fs::read_to_string(&file).unwrap());
        for part in text.split("\n#% ").skip(1) {
            let (title, code) = part.split_once('\n').unwrap();
            let (name, params) = title.split_once(' ').unwrap_or((title, "{}"));
            let params = serde_json::from_str(params).unwrap();
            let code = format!("{code}\n");
            let before = programs.insert(format!("{topic}/{name}"), Program { code, params });
            assert!(before.is_none(), "{topic}/{name} appears twice");
        }
    }
    programs
});

/// Programs that the corpus has had: it may grow, but not shrink.
const CORPUS: usize = 245;

/// Long enough for a busy machine: the end by time is the one thing that does not repeat.
const PATIENT: u64 = 300_000;

fn reproducible(client: &Client, code: &str, inputs: Value) -> Value {
    repeatable(client, code, json!({"reproducible": inputs}))
}

/// The result of a run without the parts that vary.
fn repeatable(client: &Client, code: &str, mut params: Value) -> Value {
    params["timeout_ms"] = PATIENT.into();
    let mut result = client.run_with(code, params);
    for varying in ["run_id", "duration_ms"] {
        result.as_object_mut().unwrap().remove(varying).unwrap();
    }
    result
}

fn result_of(client: &Client, program: &Program) -> Value {
    let mut params = program.params.clone();
    params["reproducible"] = true.into();
    repeatable(client, &program.code, params)
}

/// Waits for the images of reproducible runs, which a busy machine takes its time to make.
fn await_images(client: &Client) {
    for code in ["1", "import pydantic"] {
        let params = json!({"language": "python", "code": code, "reproducible": true});
        eventually(Duration::from_secs(600), || match client.call("run_code", params.clone()) {
            Err(busy) if busy.code == 1004 => None,
            ended => Some(ended.unwrap()),
        });
    }
}

/// The results of all programs, sent by several clients in an order of their own.
fn results(server: &TestServer, clients: usize, order: usize) -> BTreeMap<&'static str, Value> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let programs: Vec<_> = PROGRAMS.iter().collect();
    await_images(&server.client());
    let work = || {
        let (client, count) = (server.client(), programs.len());
        let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < count);
        for number in std::iter::from_fn(numbers) {
            // Every program once: `order` is a prime above their number.
            let (name, program) = programs[(number * order + 3) % count];
            let result = result_of(&client, program);
            found.lock().unwrap().insert(name.as_str(), result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(work);
        }
    });
    found.into_inner().unwrap()
}

/// What comes out of the programs on one worker that begins cold, one after the other.
static FIRST: LazyLock<BTreeMap<&'static str, Value>> = LazyLock::new(|| {
    let server = TestServer::start(&["--workers", "1"]);
    let first = results(&server, 1, 1);
    // The worker is warm by now, and its slot has seen all the others.
    for (name, program) in PROGRAMS.iter().step_by(5) {
        if first[name.as_str()]["fuel"].as_u64() < Some(1_000_000_000) {
            let again = result_of(&server.client(), program);
            assert_eq!(again, first[name.as_str()], "{name} differs on a warm worker");
        }
    }
    first
});

fn assert_same(found: &BTreeMap<&'static str, Value>, circumstance: &str) {
    assert_eq!(found.len(), FIRST.len());
    for (name, result) in found {
        assert_eq!(result, &FIRST[name], "{name} differs {circumstance}");
    }
}

#[test]
fn the_corpus_grows_and_its_programs_do_what_they_are_for() {
    assert!(PROGRAMS.len() >= CORPUS, "{} programs are left", PROGRAMS.len());
    assert_eq!(FIRST.len(), PROGRAMS.len());
    // Failures are a topic of their own: a program that fails by mistake looks for nothing.
    for (name, result) in FIRST.iter() {
        assert!(result["fuel"].as_u64() > Some(1_000_000), "{name}: {result}");
        let may_fail = name.starts_with("failures/");
        assert!(may_fail || result["status"] == "completed", "{name}: {result}");
    }
    assert_eq!(FIRST["failures/out_of_fuel"]["error"]["type"], "FuelExhausted");
    assert_eq!(FIRST["runs/kept_files"]["files"].as_array().unwrap().len(), 5);
}

#[test]
fn every_repetition_gives_the_same_on_forked_workers_under_load() {
    let arguments =
        ["--workers", "2", "--set", "workers.fork=true", "--set", "images.on_need=false"];
    let environment = [("TZ", "Asia/Tokyo"), ("LC_ALL", "de_DE.UTF-8"), ("PYTHONHASHSEED", "7")];
    let server = TestServer::start_in(&arguments, &environment);
    let is_done = AtomicBool::new(false);
    // Ordinary runs have the same workers meanwhile, and leave what they can.
    let noise = [
        "import os, time\nos.urandom(9)\nsum(range(10**6))",
        "kept = [bytes([n % 251]) * 4096 for n in range(20000)]",
        "blocks = []\nwhile True: blocks.append(bytearray(16 << 20))",
        "import numpy as np\nnp.random.seed(3)\nx = np.full(10**6, np.nan)",
    ];
    let found = thread::scope(|scope| {
        scope.spawn(|| {
            let client = server.client();
            for code in noise.iter().cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                client.run(code);
            }
        });
        let found = results(&server, 3, 1_009);
        is_done.store(true, Ordering::Relaxed);
        found
    });
    assert_same(&found, "on forked workers under load");
}

#[test]
fn every_repetition_gives_the_same_on_an_image_that_was_made_again() {
    let cache = cache_without_images();
    let folder = cache.path().to_str().unwrap();
    let arguments = ["--workers", "2", "--cache-dir", folder, "--set", "workers.fork=false"];
    let environment = [("TZ", "America/Lima"), ("LANG", "C"), ("SOURCE_DATE_EPOCH", "1")];
    let server = TestServer::start_in(&arguments, &environment);
    assert_same(&results(&server, 2, 2_003), "on an image that was made again");
}

#[test]
fn without_the_batteries_a_run_is_refused_that_has_to_be_the_same_everywhere() {
    let cache = cache_without_images();
    fs::remove_dir_all(cache.path().join("layers")).unwrap();
    // No registry has them.
    let nowhere = [("PIP_INDEX_URL", "http://127.0.0.1:9/simple"), ("PIP_FIND_LINKS", "")];
    let nowhere = [&nowhere[..], &[("PIP_RETRIES", "0")]].concat();
    let server = TestServer::start_in(&["--cache-dir", cache.path().to_str().unwrap()], &nowhere);
    let client = server.client();
    let params = json!({"language": "python", "code": "", "reproducible": true});
    let refusal = eventually(Duration::from_secs(120), || {
        let refusal = client.refusal("run_code", params.clone());
        // As long as pip tries.
        (refusal.kind != "overloaded").then_some(refusal)
    });
    assert_eq!(refusal.kind, "packages_missing", "{refusal:?}");
    assert!(refusal.message.contains("`wardian engine install`"), "{refusal:?}");
    assert_eq!(client.run("1")["status"], "completed");
}

#[test]
fn faults_for_the_corpus_fit_the_source() {
    let script = repository("scripts/inject-faults");
    let ended = process::Command::new("python3").arg(script).arg("--check").output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "a fault of scripts/inject-faults has to be adapted: {told}");
}

#[test]
fn the_seed_decides_chance_and_the_epoch_the_time_and_nothing_else_does() {
    let client = TestServer::shared().client();
    let code = "import os, random, sqlite3, time\n[random.random(), os.urandom(4).hex(), int(time.time()), \
                sqlite3.connect(':memory:').execute('select random()').fetchone()[0]]";
    let seen = |inputs: Value| output(&reproducible(&client, code, inputs))["result"].clone();
    let default = seen(json!(true));
    assert_eq!(default[2], 1_767_225_600);
    assert_eq!(seen(json!({})), default);
    assert_eq!(seen(json!({"seed": 0, "epoch": 1_767_225_600})), default);
    let late = seen(json!({"epoch": 9_000_000_000_u64}));
    assert_eq!((&late[0], &late[2]), (&default[0], &json!(9_000_000_000_u64)));
    let other = seen(json!({"seed": 9_007_199_254_740_991_u64}));
    assert!(other[0] != default[0] && other[1] != default[1] && other[2] == default[2]);
    assert_ne!(other[3], default[3], "SQLite's numbers follow from the seed");
    // Fuel can be limited, and the limit is no input of the run.
    let limited = json!({"reproducible": true, "limits": {"fuel": 4_000_000_000_u64}});
    assert_eq!(output(&client.run_with(code, limited))["result"], default);
    let few = json!({"reproducible": true, "limits": {"fuel": 5_000_000}});
    let endless = client.run_with("while True: pass", few);
    assert_eq!(failed(&endless).0, "FuelExhausted");
    // Without it, nothing of this holds.
    assert_ne!(output(&client.run_with(code, json!({"reproducible": false})))["result"], default);
}

#[test]
fn what_cannot_be_the_input_of_a_run_is_refused() {
    let client = TestServer::shared().client();
    for (inputs, expected) in [
        (json!(1), "parameter `reproducible` must be true, false or an object"),
        (json!({"seed": -1}), "parameter `reproducible.seed` must be an integer between 0 and"),
        (json!({"seed": 1_u64 << 53}), "between 0 and 9007199254740991"),
        (json!({"seed": "a"}), "parameter `reproducible.seed`"),
        (json!({"epoch": 9_000_000_001_u64}), "between 0 and 9000000000"),
        (json!({"epoch": 1.5}), "parameter `reproducible.epoch`"),
        (json!({"salt": 1}), "unknown parameter `reproducible.salt`"),
    ] {
        let params = json!({"language": "python", "code": "", "reproducible": inputs});
        let refused = client.refusal("run_code", params);
        assert_eq!(refused.code, -32602, "{refused:?}");
        let missing = contained(&refused.message, [expected]);
        assert!(missing.is_empty(), "{missing:?}: {}", refused.message);
    }
    let place = Command::new();
    for arguments in [&["--seed", "1"][..], &["--reproducible", "--seed", "-1"]] {
        place.run(&[&["run", "-c", "1"], arguments].concat()).with(2);
    }
}

#[test]
fn the_world_is_out_of_reach_and_the_program_is_told_why() {
    let server = TestServer::start(&["--set", "network.code=https://example.com"]);
    let code = "import urllib.request\nurllib.request.urlopen('https://example.com', timeout=5)";
    let refused = reproducible(&server.client(), code, json!(true));
    assert!(failed(&refused).1.contains("a reproducible run has no network"), "{refused}");
}

/// The digests of the memory images in a cache, by name.
fn digest_of_image(cache: &Path) -> String {
    let entries = fs::read_dir(cache.join("images")).unwrap().flatten();
    let records = entries.filter_map(|entry| fs::read(entry.path().join("memory.img.json")).ok());
    let mut records = records.map(|text| serde_json::from_slice::<Value>(&text).unwrap());
    let record = records.find(|record| record["made_from"]["profile"] == "reproducible").unwrap();
    record["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn every_cache_gets_the_same_image_bit_for_bit() {
    let mut made = Vec::new();
    for (zone, language) in [("Asia/Tokyo", "de_DE.UTF-8"), ("America/Lima", "C")] {
        let cache = cache_without_images();
        let folder = cache.path().to_str().unwrap();
        let place = Command::new().set("TZ", zone).set("LANG", language);
        let run = ["run", "--reproducible", "--cache-dir", folder, "-c", "print(hash('a'))"];
        let printed = place.run(&run).with(0).stdout;
        made.push((digest_of_image(cache.path()), printed));
    }
    assert_eq!(made[0], made[1]);
}

#[test]
fn source_date_epoch_is_the_time_of_runs_of_the_command_line() {
    let place = Command::new().set("SOURCE_DATE_EPOCH", "1000000000");
    let run = ["run", "--reproducible", "-c", "import time; print(int(time.time()))"];
    assert_eq!(place.run(&run).with(0).stdout, "1000000000\n");
    let run = [&run[..], &["--epoch", "2000000000"]].concat();
    assert_eq!(place.run(&run).with(0).stdout, "2000000000\n");
    // It may be there for others.
    for (variable, code) in [("", 0), ("yesterday", 2)] {
        let place = Command::new().set("SOURCE_DATE_EPOCH", variable);
        assert_eq!(place.run(&["run", "-c", "print(1)"]).with(0).stdout, "1\n");
        let said = place.run(&["run", "--reproducible", "-c", "print(1)"]).with(code).stderr;
        assert_eq!(said.contains("`SOURCE_DATE_EPOCH`"), code == 2, "{said}");
    }
}
