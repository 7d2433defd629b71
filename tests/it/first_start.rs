//! The first minutes on a machine: the engine is not there, and clients do not wait.
//!
//! Nothing is compiled here. A package client of the test's own takes its time or fails, and another
//! process (the test) holds the lock of the native code and says how far it is: both happen.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp::speaker::{StdioClient, legacy};
use crate::support::cache::own_cache;
use crate::support::{Command, TestServer, Watched, eventually, repository};

/// For what happens at once, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_secs(20);

const PATIENCE: Duration = Duration::from_secs(60);

/// A package client that notes its downloads and takes its time, until it is told to fail.
struct SlowPip {
    place: Command,
    script: PathBuf,
}

impl SlowPip {
    fn new() -> Self {
        let place = Command::new();
        let text = "#!/bin/sh\n\
                    case \"$*\" in *download*) echo $$ >> \"$0.downloads\";; *) exit 1;; esac\n\
                    while [ -e \"$0\" ]; do sleep 0.1; done\n\
                    echo 'there is no network' >&2\nexit 1\n";
        let script = place.file("python3", text);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        Self { place, script }
    }

    fn settings(&self) -> [String; 4] {
        let cache = self.place.folder().join("cache");
        let python = format!("engine.python={}", self.script.display());
        ["--cache-dir".into(), cache.to_str().unwrap().into(), "--set".into(), python]
    }

    /// The processes that have begun to download.
    fn downloads(&self) -> Vec<String> {
        let noted = fs::read_to_string(format!("{}.downloads", self.script.display()));
        noted.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn fail(&self) {
        fs::remove_file(&self.script).unwrap();
    }
}

fn client_of(settings: &[String]) -> StdioClient {
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    StdioClient::initialized(&settings)
}

fn call(id: u32, tool: &str, arguments: Value) -> Value {
    legacy(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A run that asks for progress.
fn run(id: u32) -> Value {
    let code = json!({"language": "python", "code": "print(6 * 7)"});
    let meta = json!({"progressToken": "p"});
    legacy(id, "tools/call", json!({"name": "run_code", "arguments": code, "_meta": meta}))
}

fn text_of(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn discovery_first() {
    let pip = SlowPip::new();
    // The first test of a machine prepares the engine for all of them.
    own_cache();
    let began = Instant::now();
    let mut client = client_of(&pip.settings());
    for (id, method, member) in [
        (1, "tools/list", "tools"),
        (2, "prompts/list", "prompts"),
        (3, "resources/list", "resources"),
    ] {
        let answer = client.ask(&legacy(id, method, json!({})));
        assert!(!answer["result"][member].as_array().unwrap().is_empty(), "{answer}");
    }
    let skill = json!({"name": "data.csv.profile"});
    let file = json!({"name": "data.csv.profile", "path": "SKILL.md"});
    let text = json!({"content": "abc", "kind": "text/plain"});
    for (id, tool, arguments, expected) in [
        (10, "list_skills", json!({}), "data.csv.profile"),
        (11, "describe_skill", skill, "csv_blob"),
        (12, "read_skill_file", file, "# "),
        (13, "load_skills_protocol_guide", json!({}), "run_code"),
        (14, "create_blob", text, "blob:"),
    ] {
        let answer = client.ask(&call(id, tool, arguments));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        assert!(answer.to_string().contains(expected), "{tool}: {answer}");
    }
    assert!(began.elapsed() < SOON, "after {:?}", began.elapsed());

    // A run waits, and says for what. When the preparation fails, it says why and what to do.
    client.send(&run(20));
    eventually(PATIENCE, || (!pip.downloads().is_empty()).then_some(()));
    let told = client.next();
    assert_eq!(told["method"], "notifications/progress", "{told}");
    assert_eq!(told["params"]["message"], "fetching the engine", "{told}");
    pip.fail();
    let (answer, _) = client.response(&json!(20));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = text_of(&answer);
    for expected in ["pip download", "there is no network", "next attempt in", "engine install"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    // The next call says it again, and discovery goes on.
    assert_eq!(client.ask(&run(21))["result"]["isError"], true);
    assert!(client.ask(&call(22, "list_skills", json!({}))).to_string().contains("data.csv"));
    assert_eq!(client.end(), 0);
}

#[test]
fn restarts_of_a_client_do_the_work_once_and_what_goes_on_is_said() {
    let pip = SlowPip::new();
    let first = client_of(&pip.settings());
    eventually(PATIENCE, || (!pip.downloads().is_empty()).then_some(()));
    let log = first.log_file();
    assert_eq!(first.end(), 0);
    let log = fs::read_to_string(log.path()).unwrap();
    let said = "finishes the engine in the background";
    let line = log.lines().find(|line| line.contains(said)).unwrap_or_else(|| panic!("{log}"));
    let id: u32 = line.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(line.contains(&format!("`kill {id}` stops it")), "{line}");
    let working = Watched::of(id).unwrap();
    assert!(!working.ends_within(Duration::ZERO), "{log}");

    // The second and third wait for that process, and leave nothing behind.
    for _ in 0..2 {
        let mut client = client_of(&pip.settings());
        client.send(&run(1));
        let waits = "another process is fetching the engine";
        eventually(PATIENCE, || (client.next()["params"]["message"] == waits).then_some(()));
        let log = client.log_file();
        assert_eq!(client.end(), 0);
        let log = fs::read_to_string(log.path()).unwrap();
        assert!(!log.contains(said), "{log}");
    }
    assert_eq!(pip.downloads().len(), 1, "{:?}", pip.downloads());
    assert!(!working.ends_within(Duration::ZERO));
    pip.fail();
    assert!(working.ends_within(PATIENCE), "it has nothing to do any more");
}

/// A cache in which only the native code is missing, because another process is compiling it.
struct Compiling {
    cache: TempDir,
    locks: Vec<File>,
}

impl Compiling {
    fn new() -> Self {
        let cache = tempfile::tempdir_in(own_cache().join("..")).unwrap();
        let link = |area: &str| symlink(own_cache().join(area), cache.path().join(area)).unwrap();
        link("engine");
        // The base image is there, and learnt ones are not to be shared.
        link("images");
        link("layers");
        let mut locks = Vec::new();
        for entry in entries_of(&own_cache()) {
            let own = cache.path().join("native").join(entry.file_name().unwrap());
            fs::create_dir_all(&own).unwrap();
            let lock = File::create(own.join(".lock")).unwrap();
            lock.lock().unwrap();
            locks.push(lock);
        }
        let this = Self { cache, locks };
        this.tell(40, 130_000);
        this
    }

    /// Says how far the compilation is, as the process that compiles does.
    fn tell(&self, percent: u64, remaining_ms: u64) {
        let report = json!({
            "step": {"compile": "timed"}, "process": std::process::id(), "done": percent * 10,
            "total": 1000, "remaining_ms": remaining_ms,
        });
        for entry in entries_of(self.cache.path()) {
            fs::write(entry.join(".progress"), report.to_string()).unwrap();
        }
    }

    /// Ends the compilation.
    fn finish(mut self) -> TempDir {
        for entry in entries_of(&own_cache()) {
            let own = self.cache.path().join("native").join(entry.file_name().unwrap());
            for file in fs::read_dir(entry).unwrap().map(Result::unwrap) {
                let name = file.file_name();
                if !name.to_string_lossy().starts_with('.') {
                    fs::copy(file.path(), own.join(name)).unwrap();
                }
            }
        }
        self.locks.clear();
        self.cache
    }

    fn settings(&self) -> [String; 2] {
        ["--cache-dir".into(), self.cache.path().to_str().unwrap().into()]
    }
}

fn entries_of(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache.join("native")).unwrap();
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[test]
fn a_run_waits_for_a_compilation_and_tells_how_far_it_is() {
    let compiling = Compiling::new();
    let mut client = client_of(&compiling.settings());
    client.send(&run(1));
    let step = |client: &StdioClient, percent: f64, text: &str| {
        // What was true before is told until it changes.
        let told = eventually(PATIENCE, || {
            let told = client.next();
            (told["params"]["message"] == text).then_some(told)
        });
        let params = &told["params"];
        assert_eq!(params["progress"].as_f64().map(f64::floor), Some(percent), "{told}");
        assert_eq!(params["total"], 100.0, "{told}");
    };
    step(&client, 40.0, "another process is compiling the engine: 40 %, about 3 minutes left");
    compiling.tell(75, 30_000);
    step(&client, 75.0, "another process is compiling the engine: 75 %, about 30 s left");
    let cache = compiling.finish();
    let (answer, before) = client.response(&json!(1));
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().contains("42"), "{answer}");
    // Progress never goes back, also not where the run begins.
    let told = before.iter().filter_map(|told| told["params"]["progress"].as_f64());
    assert!(told.into_iter().all(|progress| progress > 75.0), "{before:?}");
    assert_eq!(client.end(), 0);
    drop(cache);
}

#[test]
fn a_run_is_refused_in_time_with_the_time_to_ask_again() {
    let compiling = Compiling::new();
    let mut client = client_of(&compiling.settings());
    let began = Instant::now();
    // Clients give up after 60 s, with or without notifications.
    let answer = client.ask(&call(1, "run_code", json!({"language": "python", "code": "1"})));
    assert!(began.elapsed() < Duration::from_secs(58), "{:?}", began.elapsed());
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let text = text_of(&answer);
    for expected in ["compiling the engine: 40 %, about 3 minutes left", "call again in 30 s"] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(client.end(), 0);
}

#[test]
fn nothing_runs_early() {
    let compiling = Compiling::new();
    let settings = compiling.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = TestServer::start_unready(&settings);
    let client = server.client();
    assert_eq!(client.get("/healthz").status, 200);
    let preparing = eventually(PATIENCE, || {
        let answer = client.get("/readyz");
        assert_eq!((answer.status, &answer.json()["ready"]), (503, &json!(false)));
        let preparing = answer.json()["preparing"].clone();
        let reasons = answer.json()["reasons"].clone();
        let is_read = preparing["percent"] == 40 && reasons.to_string().contains("40 %");
        is_read.then_some((preparing, reasons))
    });
    let step = "another process is compiling the engine: 40 %, about 3 minutes left";
    assert_eq!(preparing.0, json!({"step": step, "percent": 40, "remaining_ms": 130_000}));
    assert_eq!(preparing.1, json!([format!("waiting for the engine: {step}")]));
    let listed = client.call("list_skills", json!({})).unwrap();
    assert!(listed["skills"].as_array().unwrap().len() > 3, "{listed}");
    let code = json!({"language": "python", "code": "6 * 7"});
    let run = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": code});
    let refused = client.post(run.to_string());
    assert_eq!((refused.status, refused.error().1.as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), "30");
    assert!(refused.json().to_string().contains("40 %"), "{refused:?}");

    let cache = compiling.finish();
    let line = server.next_line().unwrap();
    assert!(line.starts_with("listening on "), "{line}");
    let ready = client.get("/readyz");
    assert_eq!((ready.status, &ready.json()["preparing"]), (200, &Value::Null));
    assert_eq!(client.post(run.to_string()).status, 200);
    drop(server);
    drop(cache);
}

/// The pages have the very answers. `doc-outputs` follows pages with a server that is ready.
#[test]
fn the_documents_show_what_a_starting_server_answers() {
    let page = |name: &str| fs::read_to_string(repository(name)).unwrap();
    let (protocol, operators) = (page("docs/protocol.md"), page("docs/operators.md"));
    let text = |body: Vec<u8>| String::from_utf8(body).unwrap().trim_end().to_owned();
    let shows = |page: &str, line: &str| page.lines().any(|shown| shown == line);
    let server_with = |settings: &[String]| {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        TestServer::start_unready(&settings)
    };
    let look = |server: &TestServer, word: &str| {
        eventually(PATIENCE, || {
            let answer = server.client().get("/readyz");
            assert_eq!(answer.status, 503);
            Some(text(answer.body)).filter(|answer| answer.contains(word))
        })
    };
    let pip = SlowPip::new();
    let server = server_with(&pip.settings());
    let fetching = look(&server, "fetching");
    assert!(shows(&protocol, &fetching), "docs/protocol.md does not show {fetching}");
    // The call as the page has it.
    let (_, after) = protocol.split_once("A server that is starting:").unwrap();
    let command = after.lines().find_map(|line| line.strip_prefix("$ call '")).unwrap();
    let refused = server.client().post(command.trim_end_matches('\''));
    assert_eq!((refused.status, refused.error().1.as_str()), (503, "overloaded"));
    let refused = text(refused.body);
    assert!(shows(&protocol, &refused), "docs/protocol.md does not show {refused}");
    pip.fail();
    drop(server);
    let compiling = Compiling::new();
    compiling.tell(40, 96_210);
    let server = server_with(&compiling.settings());
    // The page shows the process that compiles, and here it is another one.
    let compiled = look(&server, "40 %").replace("another process is ", "");
    assert!(shows(&operators, &compiled), "docs/operators.md does not show {compiled}");
}
