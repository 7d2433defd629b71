//! The real binary, served over real sockets: a published client, the bundled skills, a million
//! rows, a killed worker, a restart.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic; that is how it fails")]
#![expect(clippy::panic_in_result_fn, reason = "an error here is the server's answer")]
#![expect(clippy::indexing_slicing, reason = "JSON that is not there reads as null")]

#[path = "it/support/cache.rs"]
#[expect(dead_code, reason = "these tests start programs only")]
mod cache;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server of its own, which must end well.
struct Server {
    process: Child,
    url: String,
    data: TempDir,
}

impl Server {
    fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap())
    }

    fn start_in(data: TempDir) -> Self {
        let mut process = cache::untouched_command(data.path())
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let line = stdout.lines().next().unwrap().unwrap();
        let address = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("said {line:?}"));
        Self { url: address.to_owned(), process, data }
    }

    fn post(&self, body: &str) -> Value {
        let mut response = ureq::post(format!("{}/rpc", self.url))
            .header("content-type", "application/json")
            .send(body)
            .unwrap();
        serde_json::from_str(&response.body_mut().read_to_string().unwrap()).unwrap()
    }

    fn call(&self, method: &str, params: &Value) -> Result<Value, Value> {
        let body = json!({"jsonrpc": "2.0", "id": "t", "method": method, "params": params});
        let mut answer = self.post(&body.to_string());
        assert_eq!(answer["id"], "t");
        match answer.get_mut("result") {
            Some(result) => Ok(result.take()),
            None => Err(answer["error"].take()),
        }
    }

    fn run(&self, code: &str) -> Value {
        self.call("run_code", &json!({"language": "python", "code": code})).unwrap()
    }

    /// Ends the server as an operator does; it must have had nothing to complain about.
    fn stop(mut self) -> TempDir {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
        std::mem::replace(&mut self.data, tempfile::tempdir().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A Python with pandas and requests, as users have it outside of the sandbox.
static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python");
    let python = folder.join("bin/python");
    let has_all = |python: &Path| {
        let check = Command::new(python).args(["-c", "import pandas, requests"]).output();
        check.is_ok_and(|check| check.status.success())
    };
    if !has_all(&python) {
        let made = Command::new("python3").args(["-m", "venv"]).arg(&folder).status().unwrap();
        assert!(made.success(), "python3 -m venv failed");
        let pip = ["-m", "pip", "install", "--quiet", "pandas", "requests"];
        assert!(Command::new(&python).args(pip).status().unwrap().success(), "pip failed");
    }
    python
});

fn python(arguments: &[&str]) -> String {
    let output = Command::new(&*PYTHON).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn a_published_client_goes_through_the_whole_protocol() {
    let server = Server::start();
    let walkthrough = repository().join("tests/client/walkthrough.py");
    let url = format!("{}/rpc", server.url);
    let said = python(&[walkthrough.to_str().unwrap(), &url]);
    assert!(said.ends_with("ok\n"), "{said}");
    server.stop();
}

#[test]
fn the_bundled_skills_give_what_their_cases_expect() {
    let server = Server::start();
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(repository().join("tests/fixtures/skills_cases")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let skill = file["skill"].as_str().unwrap();
        for case in file["cases"].as_array().unwrap() {
            count += 1;
            if let Err(problem) = check_case(&server, skill, case) {
                failures.push(format!("{skill}: {}: {problem}", case["name"]));
            }
        }
    }
    assert!(count > 70, "only {count} cases were found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    server.stop();
}

fn check_case(server: &Server, skill: &str, case: &Value) -> Result<(), String> {
    let mut ids = BTreeMap::new();
    for (alias, blob) in case["blobs"].as_object().into_iter().flatten() {
        let content = BASE64.encode(&content_of(blob));
        let kind = &blob["kind"];
        let params = json!({"content": content, "kind": kind, "encoding": "base64"});
        let stored = server.call("create_blob", &params).map_err(|error| error.to_string())?;
        ids.insert(format!("${alias}"), stored["blob_id"].clone());
    }
    let mut params =
        json!({"name": skill, "args": named(&case["args"], &ids), "timeout_ms": 120_000});
    if let Some(blobs) = case.get("input_blobs") {
        params["input_blobs"] = named(blobs, &ids);
    }
    let result = server.call("execute_skill", &params).map_err(|error| error.to_string())?;
    let expected = &case["expect"];
    if result["status"] != expected["status"] {
        return Err(format!("ended as {result}"));
    }
    if let Some(error) = expected.get("error") {
        matches("error.type", &error["type"], &result["error"]["type"])?;
    }
    let output = &result["output"];
    for (key, value) in expected["output"].as_object().into_iter().flatten() {
        matches(key, value, &output[key])?;
    }
    for (key, blob) in expected["blobs"].as_object().into_iter().flatten() {
        check_blob(server, blob, &output[key]).map_err(|problem| format!("{key}: {problem}"))?;
    }
    Ok(())
}

fn check_blob(server: &Server, expected: &Value, id: &Value) -> Result<(), String> {
    let params = json!({"blob_id": id, "mode": "full"});
    let found = server.call("read_blob", &params).map_err(|error| error.to_string())?;
    matches("kind", &expected["kind"], &found["kind"])?;
    let content = found["content"].as_str().unwrap_or_default();
    if let Some(text) = expected.get("text") {
        matches("text", text, &found["content"])?;
    }
    for key in ["starts_with", "base64_starts_with"] {
        if let Some(start) = expected.get(key).and_then(Value::as_str)
            && !content.starts_with(start.trim_end_matches('='))
        {
            return Err(format!("begins with {content:.40}"));
        }
    }
    for text in expected["contains"].as_array().into_iter().flatten() {
        if !content.contains(text.as_str().unwrap()) {
            return Err(format!("lacks {text}"));
        }
    }
    Ok(())
}

fn content_of(blob: &Value) -> Vec<u8> {
    if let Some(path) = blob["path"].as_str() {
        return fs::read(repository().join(path)).unwrap();
    }
    if let Some(text) = blob["base64"].as_str() {
        return BASE64.decode(text.as_bytes()).unwrap();
    }
    if let Some(text) = blob["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let parts = blob["parts"].as_array().unwrap().iter().map(|part| {
        let times = part["times"].as_u64().unwrap_or(1).try_into().unwrap();
        part["text"].as_str().unwrap().repeat(times)
    });
    parts.collect::<String>().into_bytes()
}

/// `value` with every alias replaced by the id of its blob.
fn named(value: &Value, ids: &BTreeMap<String, Value>) -> Value {
    match value {
        Value::String(text) => ids.get(text).unwrap_or(value).clone(),
        Value::Array(items) => items.iter().map(|item| named(item, ids)).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, item)| (key.clone(), named(item, ids))).collect()
        }
        other => other.clone(),
    }
}

/// Objects may have more keys, arrays have equally many elements, numbers agree to 1e-9.
fn matches(path: &str, expected: &Value, found: &Value) -> Result<(), String> {
    let differs = || Err(format!("`{path}` is {found}, not {expected}"));
    match (expected, found) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap(), other.as_f64().unwrap());
            if (one - other).abs() <= 1e-9 * one.abs().max(other.abs()) {
                Ok(())
            } else {
                differs()
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut both = one.iter().zip(other).enumerate();
            both.try_for_each(|(at, (one, other))| matches(&format!("{path}[{at}]"), one, other))
        }
        (Value::Object(one), Value::Object(_)) => one
            .iter()
            .try_for_each(|(key, one)| matches(&format!("{path}.{key}"), one, &found[key])),
        (one, other) if one == other => Ok(()),
        _ => differs(),
    }
}

/// Writes a table of a million rows with gaps, in a way that every machine does alike.
fn write_million_rows(path: &Path) {
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    writeln!(file, "id,group,amount,score").unwrap();
    let mut state = 88_172_645_463_325_252_u64;
    for id in 0..1_000_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (group, amount, cents) = (state % 7, state % 100_000, state % 97);
        let score =
            if state.is_multiple_of(50) { String::new() } else { format!("{amount}.{cents:02}") };
        writeln!(file, "{id},g{group},{amount},{score}").unwrap();
    }
    file.flush().unwrap();
}

#[test]
fn a_profile_of_a_million_rows_has_the_numbers_of_pandas_outside() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table.csv");
    write_million_rows(&table);
    let blob = format!("csv_blob={}", table.display());
    let output = cache::untouched_command(folder.path())
        .args(["exec", "data.csv.profile", "--blob", &blob, "--timeout-ms", "120000", "--json"])
        .arg("--data-dir")
        .arg(folder.path())
        .output()
        .unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "completed", "{result}");
    let outside = python(&[
        "-c",
        "import json, sys, pandas as pd\n\
         d = pd.read_csv(sys.argv[1])[['amount', 'score']].describe()\n\
         print(d.to_json(double_precision=15))",
        table.to_str().unwrap(),
    ]);
    let outside: Value = serde_json::from_str(&outside).unwrap();
    let columns = result["output"]["columns"].as_array().unwrap();
    for (name, numbers) in outside.as_object().unwrap() {
        let column = columns.iter().find(|column| column["name"] == *name).unwrap();
        for (statistic, pandas) in numbers.as_object().unwrap() {
            let ours = find_statistic(column, statistic);
            matches(&format!("{name}.{statistic}"), pandas, &ours).unwrap();
        }
    }
}

/// A statistic of a column, whatever the skill calls quartiles.
fn find_statistic(column: &Value, statistic: &str) -> Value {
    let name = match statistic {
        "25%" => "q1",
        "50%" => "median",
        "75%" => "q3",
        other => other,
    };
    let places = [&column[name], &column["statistics"][name]];
    places
        .into_iter()
        .find(|value| !value.is_null())
        .cloned()
        .unwrap_or_else(|| panic!("no `{name}` in {column}"))
}

#[test]
fn blobs_outlive_a_restart_and_bad_requests() {
    let server = Server::start();
    let params = json!({"content": "Grüße", "kind": "text/plain"});
    let id = server.call("create_blob", &params).unwrap()["blob_id"].clone();
    for bad in [
        r#"{"jsonrpc":"2.0","id":1,"method":"create_blob","params":{"content":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"read_blob","params":{"blob_id":"blob:../x"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"read_blob","method":"create_blob"}"#,
        "[[[[",
    ] {
        assert!(server.post(bad)["error"].is_object(), "{bad}");
    }
    let data = server.stop();
    let again = Server::start_in(data);
    assert_eq!(again.call("read_blob", &json!({ "blob_id": id })).unwrap()["content"], "Grüße");
    again.stop();
}

#[test]
fn a_killed_worker_costs_one_run_and_no_more() {
    let server = Server::start();
    std::thread::scope(|scope| {
        let spinning = scope.spawn(|| server.run("def main(args):\n    while True: pass"));
        let busy = loop {
            if let Some(worker) = busy_worker(server.process.id()) {
                break worker;
            }
        };
        rustix::process::kill_process(busy, rustix::process::Signal::KILL).unwrap();
        let lost = spinning.join().unwrap();
        assert_eq!(lost["error"]["type"], "SandboxCrash", "{lost}");
    });
    for _ in 0..20 {
        assert_eq!(server.run("def main(args): return 7")["output"]["result"], 7);
    }
    server.stop();
}

/// A worker of `server` that has used more than 200 ms of processor time since it was first seen.
fn busy_worker(server: u32) -> Option<rustix::process::Pid> {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
    let mut workers: Vec<u32> = children.split_whitespace().map(|id| id.parse().unwrap()).collect();
    // Workers are started by a thread of their own.
    for task in fs::read_dir(format!("/proc/{server}/task")).unwrap() {
        let list = fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default();
        workers.extend(list.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    workers
        .into_iter()
        .find(|id| processor_time(*id) > 60)
        .and_then(|id| rustix::process::Pid::from_raw(id.try_into().unwrap()))
}

/// Processor time of a process in hundredths of a second.
fn processor_time(process: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    fields.get(11).and_then(|time| time.parse().ok()).unwrap_or(0)
}
