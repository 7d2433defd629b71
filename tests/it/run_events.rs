//! Runs whose output a client reads while they run.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{TestServer, returning};

const PATIENCE: Duration = Duration::from_secs(60);

/// The answer to one call, as it arrives.
pub(crate) struct Events {
    stream: TcpStream,
    /// What was read and not used yet.
    rest: Vec<u8>,
    head: String,
    /// The text of events that are not whole yet.
    text: String,
}

/// One event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: Value,
    at: Instant,
}

impl Events {
    /// Calls a method and accepts events.
    pub(crate) fn of(server: &TestServer, method: &str, params: &Value) -> Self {
        Self::of_body(server, &call_of(method, params))
    }

    /// As [`Self::of`], with a key.
    pub(crate) fn with_key(server: &TestServer, key: &str, method: &str, params: &Value) -> Self {
        let header = format!("Authorization: Bearer {key}\r\n");
        Self::with_header(server, &call_of(method, params), &header)
    }

    fn of_body(server: &TestServer, body: &str) -> Self {
        Self::with_header(server, body, "")
    }

    fn with_header(server: &TestServer, body: &str, header: &str) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{header}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Self { stream, rest: Vec::new(), head: String::new(), text: String::new() }
    }

    /// Reads up to and including `end`, and returns what was before it.
    fn until(&mut self, end: &str) -> String {
        loop {
            let found = self.rest.windows(end.len()).position(|part| part == end.as_bytes());
            if let Some(at) = found {
                let text = String::from_utf8(self.rest[..at].to_vec()).unwrap();
                self.rest.drain(..at + end.len());
                return text;
            }
            let mut buffer = [0; 4_096];
            let read = self.stream.read(&mut buffer).unwrap();
            assert!(read > 0, "the answer ended: {}", String::from_utf8_lossy(&self.rest));
            self.rest.extend_from_slice(&buffer[..read]);
        }
    }

    fn head(&mut self) -> &str {
        if self.head.is_empty() {
            self.head = self.until("\r\n\r\n").to_ascii_lowercase();
        }
        &self.head
    }

    /// All events up to the response.
    fn all(mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.event()).collect()
    }

    /// The next event that is no comment; `None` after the last one.
    pub(crate) fn event(&mut self) -> Option<Event> {
        if self.head.is_empty() {
            assert!(self.head().contains("content-type: text/event-stream"), "{}", self.head);
            assert!(self.head().starts_with("http/1.1 200"), "{}", self.head);
        }
        loop {
            if let Some((event, more)) = self.text.split_once("\n\n") {
                if event.starts_with(':') {
                    self.text = more.to_owned();
                    continue;
                }
                let (name, data) = event.split_once('\n').unwrap();
                let event = Event {
                    name: name.strip_prefix("event: ").unwrap().to_owned(),
                    data: serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap(),
                    at: Instant::now(),
                };
                self.text = more.to_owned();
                return Some(event);
            }
            let size = usize::from_str_radix(&self.until("\r\n"), 16).unwrap();
            if size == 0 {
                assert_eq!(self.text, "", "the last event is whole");
                return None;
            }
            while self.rest.len() < size + 2 {
                let mut buffer = [0; 4_096];
                let read = self.stream.read(&mut buffer).unwrap();
                assert!(read > 0);
                self.rest.extend_from_slice(&buffer[..read]);
            }
            self.text.push_str(std::str::from_utf8(&self.rest[..size]).unwrap());
            self.rest.drain(..size + 2);
        }
    }
}

fn call_of(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

fn code(code: &str) -> Value {
    json!({"language": "python", "code": code})
}

/// The texts of the events of one stream.
fn printed(events: &[Event], stream: &str) -> String {
    let of_stream = |event: &&Event| event.name == "output" && event.data["stream"] == stream;
    events.iter().filter(of_stream).map(|event| event.data["text"].as_str().unwrap()).collect()
}

#[test]
fn output_and_progress_arrive_while_the_program_runs() {
    let server = TestServer::shared();
    let program = "import sys, time\n\
        from runtime import log, progress\n\
        def main(args):\n    \
            print('first'); progress(1, 4, 'reading\\nfiles'); log.info('half'); time.sleep(1)\n    \
            print('second', file=sys.stderr); progress(4, 4)\n    \
            return [1, 2]\n";
    let events = Events::of(server, "run_code", &code(program)).all();
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names.last(), Some(&"response"), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "response").count(), 1);
    assert_eq!(printed(&events, "stdout"), "first\n");
    assert_eq!(printed(&events, "log"), "[info] half\n");
    assert_eq!(printed(&events, "stderr"), "second\n");
    let reports: Vec<_> = events.iter().filter(|event| event.name == "progress").collect();
    assert_eq!(reports[0].data, json!({"done": 1.0, "total": 4.0, "message": "reading files"}));
    assert_eq!(reports.last().unwrap().data, json!({"done": 4.0, "total": 4.0}));
    let last = events.last().unwrap();
    assert!(last.at - reports[0].at > Duration::from_millis(700), "told at once");
    assert_eq!((&last.data["id"], &last.data["jsonrpc"]), (&json!(7), &json!("2.0")));
    let result = &last.data["result"];
    assert_eq!(
        (&result["status"], &result["output"]),
        (&json!("completed"), &json!({"result": [1, 2]}))
    );
    assert!(result["logs_preview"].as_str().unwrap().contains("first"));
}

/// These libraries start threads that draw beside the program, which a guest has not.
#[test]
fn bars_of_libraries_report_progress() {
    for program in [
        "from tqdm import tqdm\nimport time\n\
            for _ in tqdm(range(5), desc='rows'): time.sleep(0.15)\n",
        "from tqdm.auto import trange\nimport time\n\
            for _ in trange(5, desc='rows'): time.sleep(0.15)\n",
        "from rich.progress import track\nimport time\n\
            for _ in track(range(5), description='rows'): time.sleep(0.15)\n",
        "from rich.progress import Progress\nimport time\n\
            with Progress() as bars:\n    \
                task = bars.add_task('rows', total=5)\n    \
                while not bars.finished: bars.update(task, advance=1); time.sleep(0.15)\n",
    ] {
        let events = Events::of(TestServer::shared(), "run_code", &code(program)).all();
        assert_eq!(events.last().unwrap().data["result"]["status"], "completed", "{events:#?}");
        let reports: Vec<_> = events.iter().filter(|event| event.name == "progress").collect();
        assert!(reports.len() > 2, "{program}: {events:?}");
        assert_eq!(reports.last().unwrap().data["done"], 5.0, "{program}");
        assert_eq!(reports[0].data["total"], 5.0);
        assert!(reports[0].data["message"].as_str().unwrap().starts_with("rows"));
        let texts = printed(&events, "stdout") + &printed(&events, "stderr");
        assert!(texts.contains("100%"), "{program}: {texts}");
    }
    let status = "import rich.console, time\n\
        with rich.console.Console().status('working'): time.sleep(0.5)\n\
        print('over')\n";
    let events = Events::of(TestServer::shared(), "run_code", &code(status)).all();
    assert_eq!(events.last().unwrap().data["result"]["status"], "completed", "{events:#?}");
}

#[test]
fn a_result_is_one_event_whatever_its_text() {
    let program = returning("{\"a\":\n\n\r\n[1]}");
    let events = Events::of(TestServer::shared(), "run_code", &code(&program)).all();
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["response"]);
    assert_eq!(events[0].data["result"]["output"]["a"], json!([1]));
}

#[test]
fn a_run_that_prints_nothing_has_the_response_alone() {
    for (method, params) in [
        ("run_code", code("def main(args): return 'x'")),
        ("run_code", code("def main(args): raise KeyError(1)")),
    ] {
        let events = Events::of(TestServer::shared(), method, &params).all();
        assert_eq!(events.len(), 1, "{events:?}");
        assert!(events[0].data["result"]["status"].is_string(), "{events:?}");
    }
}

#[test]
fn a_call_that_is_refused_has_its_error_as_the_answer() {
    let server = TestServer::shared();
    let limits = json!({"language": "python", "code": "", "limits": {"timeout_ms": 1_000_000_000}});
    for (method, params, status) in [
        ("run_code", limits, "200"),
        ("execute_skill", json!({"name": "no.such.skill"}), "200"),
        ("list_skills", json!({}), "200"),
    ] {
        let mut events = Events::of(server, method, &params);
        let head = events.head().to_owned();
        assert!(head.contains("content-type: application/json"), "{method}: {head}");
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{method}: {head}");
    }
    // A batch has one answer.
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": code("print(1)")});
    let mut batch = Events::of_body(server, &json!([call]).to_string());
    assert!(batch.head().contains("content-type: application/json"), "{}", batch.head());
    let notification = json!({"jsonrpc": "2.0", "method": "run_code", "params": code("print(1)")});
    let mut nothing = Events::of_body(server, &notification.to_string());
    assert!(nothing.head().starts_with("http/1.1 204"), "{}", nothing.head());
}

#[test]
fn a_client_that_leaves_cancels_its_run() {
    let server = TestServer::start(&["--workers", "1"]);
    let program = "import time\ndef main(args):\n    print('here', flush=True); time.sleep(25)\n";
    let mut events = Events::of(&server, "run_code", &code(program));
    assert!(events.head().contains("event-stream"), "{}", events.head());
    events.until("here");
    drop(events);
    server.wait_for_log("ended: Cancelled");
    let began = Instant::now();
    server.client().run("def main(args): return 1");
    assert!(began.elapsed() < Duration::from_secs(15), "the worker is free again");
}

#[test]
fn a_slow_reader_misses_output_and_slows_nothing_down() {
    let settings = ["limits.logs=16MiB", "limits.max.logs=16MiB", "http.stall_timeout=60s"];
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
    let server = TestServer::start(&arguments);
    let program = "def main(args):\n    \
        for number in range(120_000): print('x' * 99)\n    \
        return 'done'\n";
    let mut events = Events::of(&server, "run_code", &code(program));
    assert!(events.head().contains("event-stream"), "{}", events.head());
    // The run ends although nobody reads.
    server.wait_for_log("ended: completed");
    let events = events.all();
    let left_out: Vec<_> = events.iter().filter(|event| event.name == "left_out").collect();
    assert_eq!(left_out.len(), 1, "{:?}", events.last());
    let missed = left_out[0].data["bytes"].as_u64().unwrap();
    let read = u64::try_from(printed(&events, "stdout").len()).unwrap();
    assert_eq!(missed + read, 120_000 * 100);
    assert!(missed > 1_000_000, "{missed}");
    assert_eq!(events.last().unwrap().data["result"]["output"]["result"], "done");
}
