//! Reproducible runs: every repetition gives the same result, log, files and fuel.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::images::cache_without_images;
use crate::support::{Client, Command, TestServer, contained, failed, output, repository};

/// Programs that look for a source of time or chance, each in its own way.
static PROGRAMS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let folder = repository("tests/fixtures/reproducible");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |file: &Path| file.file_stem().unwrap().to_str().unwrap().to_owned();
    files.map(|file| (named(&file), fs::read_to_string(&file).unwrap())).collect()
});

/// Programs that the corpus has had: it may grow, but not vanish.
const CORPUS: usize = 17;

/// Long enough for a busy machine: the end by time is the one thing that does not repeat.
const PATIENT: u64 = 300_000;

fn reproducible(client: &Client, code: &str, inputs: Value) -> Value {
    let params = json!({"reproducible": inputs, "timeout_ms": PATIENT});
    let mut result = client.run_with(code, params);
    for varying in ["run_id", "duration_ms"] {
        result.as_object_mut().unwrap().remove(varying).unwrap();
    }
    result
}

/// The results of all programs, sent by several clients in an order of their own.
fn results(server: &TestServer, clients: usize, order: usize) -> BTreeMap<&'static str, Value> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let programs: Vec<_> = PROGRAMS.iter().collect();
    let work = || {
        let (client, count) = (server.client(), programs.len());
        let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < count);
        for number in std::iter::from_fn(numbers) {
            let (name, code) = programs[(number * order + 3) % count];
            let result = reproducible(&client, code, json!(true));
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

#[test]
fn every_repetition_gives_the_same_on_warm_and_cold_workers_alone_and_under_load() {
    assert!(PROGRAMS.len() >= CORPUS, "{} programs are left", PROGRAMS.len());
    let one = TestServer::start(&["--workers", "1"]);
    let first = results(&one, 1, 1);
    assert!(first.values().all(|result| result["fuel"].as_u64() > Some(1_000_000)), "{first:?}");
    assert_eq!(first["failures"]["status"], "failed");
    let other = TestServer::start(&["--workers", "2"]);
    let noise = |client: Client| client.run("import os\nos.urandom(9)\nsum(range(10**6))\n");
    let found = thread::scope(|scope| {
        // Ordinary runs have the same workers meanwhile.
        scope.spawn(|| (0..20).for_each(|_| drop(noise(other.client()))));
        results(&other, 3, 7)
    });
    for (name, result) in &found {
        assert_eq!(result, &first[name], "{name} differs on a server with other runs");
    }
    // The worker of the first server is warm by now.
    for name in ["clocks", "hashes", "files", "collector"] {
        let again = reproducible(&one.client(), &PROGRAMS[name], json!(true));
        assert_eq!(again, first[name], "{name} differs on a warm worker");
    }
}

#[test]
fn the_seed_decides_chance_and_the_epoch_the_time_and_nothing_else_does() {
    let client = TestServer::shared().client();
    let code = "import os, random, time\n[random.random(), os.urandom(4).hex(), int(time.time())]";
    let seen = |inputs: Value| output(&reproducible(&client, code, inputs))["result"].clone();
    let default = seen(json!(true));
    assert_eq!(default[2], 1_767_225_600);
    assert_eq!(seen(json!({})), default);
    assert_eq!(seen(json!({"seed": 0, "epoch": 1_767_225_600})), default);
    let late = seen(json!({"epoch": 9_000_000_000_u64}));
    assert_eq!((&late[0], &late[2]), (&default[0], &json!(9_000_000_000_u64)));
    let other = seen(json!({"seed": 9_007_199_254_740_991_u64}));
    assert!(other[0] != default[0] && other[1] != default[1] && other[2] == default[2]);
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
}
