//! Traces: spans that a collector gets, what they say, and that it costs runs nothing.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use prost::Message as _;
use serde_json::{Value, json};

use crate::support::{Client, Command, Reply, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(60);

/// The parent of the examples of the specification.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

/// How a collector behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Kind,
    /// It reads and never answers.
    Silent,
    /// Its answer has no end.
    Endless,
    /// It sends requests on to another address.
    Redirecting(SocketAddr),
    /// It takes requests apart and answers with nonsense.
    Talkative,
}

/// A collector on a port of its own.
struct Collector {
    address: SocketAddr,
    state: Arc<CollectorState>,
}

#[derive(Default)]
struct CollectorState {
    connections: AtomicUsize,
    /// Heads and bodies of requests.
    requests: Mutex<Vec<(String, Vec<u8>)>>,
}

impl Collector {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(CollectorState::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let state = Arc::clone(&shared);
                // A server that stops closes its connections in the middle.
                thread::spawn(move || serve(stream.unwrap(), manner, &state).ok());
            }
        });
        Self { address, state }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn bodies(&self) -> Vec<Vec<u8>> {
        self.state.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// All spans so far.
    fn spans(&self) -> Vec<Span> {
        let read = |body: Vec<u8>| ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
        let resources = self.bodies().into_iter().flat_map(|body| read(body).resource_spans);
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// The spans of the trace with this id, once there are `count`.
    fn trace(&self, id: &str, count: usize) -> Trace {
        let found = eventually(PATIENCE, || {
            let spans = self.spans().into_iter().filter(|span| hexadecimal(&span.trace_id) == id);
            let spans: Vec<_> = spans.collect();
            (spans.len() >= count).then_some(spans)
        });
        assert_eq!(found.len(), count, "{found:#?}");
        Trace(found)
    }
}

fn serve(mut stream: TcpStream, manner: Manner, state: &CollectorState) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let lower = head.to_lowercase();
        let length = lower.split_once("content-length: ").unwrap().1.lines().next().unwrap();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body)?;
        state.requests.lock().unwrap().push((head, body));
        match manner {
            Manner::Kind => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?,
            Manner::Silent => thread::park(),
            Manner::Endless => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")?;
                loop {
                    stream.write_all(b"1000\r\n")?;
                    stream.write_all(&[b'x'; 0x1000])?;
                    stream.write_all(b"\r\n")?;
                }
            }
            Manner::Redirecting(elsewhere) => {
                let head = format!(
                    "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://{elsewhere}/v1/traces\r\n\
                     content-length: 0\r\n\r\n"
                );
                stream.write_all(head.as_bytes())?;
            }
            Manner::Talkative => {
                stream.write_all(b"\x1b[2J nonsense of a collector \r\n\r\n")?;
                return Ok(());
            }
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// The spans of one trace.
#[derive(Debug)]
struct Trace(Vec<Span>);

impl Trace {
    fn named(&self, name: &str) -> &Span {
        let mut found = self.0.iter().filter(|span| span.name == name);
        let (Some(span), None) = (found.next(), found.next()) else {
            panic!("not one span `{name}`: {:#?}", self.0)
        };
        span
    }

    /// The names of the spans below a span, sorted.
    fn below(&self, parent: &Span) -> Vec<&str> {
        let below = self.0.iter().filter(|span| span.parent_span_id == parent.span_id);
        let mut names: Vec<_> = below.map(|span| span.name.as_str()).collect();
        names.sort_unstable();
        names
    }
}

/// The attributes of a span as text.
fn attributes(span: &Span) -> BTreeMap<&str, String> {
    let text = |value: &any_value::Value| match value {
        any_value::Value::StringValue(text) => text.clone(),
        any_value::Value::IntValue(number) => number.to_string(),
        any_value::Value::BoolValue(flag) => flag.to_string(),
        other => panic!("{other:?}"),
    };
    let pair = |one: &'_ opentelemetry_proto::tonic::common::v1::KeyValue| {
        text(one.value.as_ref().unwrap().value.as_ref().unwrap())
    };
    span.attributes.iter().map(|one| (one.key.as_str(), pair(one))).collect()
}

fn status(span: &Span) -> StatusCode {
    span.status.as_ref().map_or(StatusCode::Unset, Status::code)
}

/// A server whose spans go to this address.
fn traced(url: &str, more: &[&str]) -> TestServer {
    let endpoint = format!("telemetry.otlp_endpoint={url}");
    TestServer::start(&[&["--set", &endpoint], more].concat())
}

/// Headers with this parent.
fn parent(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{PARENT}-{flags}\r\ntracestate: vendor=1, other=2\r\n")
}

/// Runs code in a request with these headers; returns the response.
fn run(server: &TestServer, headers: &str, code: &str, more: Value) -> Value {
    let mut params = json!({"language": "python", "code": code});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    post(server, headers, &call.to_string()).json()
}

/// Sends a body to `/rpc`, with these further headers.
fn post(server: &TestServer, headers: &str, body: &str) -> Reply {
    let headers = format!("host: localhost\r\ncontent-type: application/json\r\n{headers}");
    server.connect().post(&headers, body)
}

/// The record of a run that is over.
fn record(client: &Client, response: &Value) -> Value {
    let id = response["result"]["run_id"].as_str().unwrap_or_else(|| panic!("{response}"));
    eventually(PATIENCE, || {
        let found = client.get(&format!("/v1/runs/{id}?wait_ms=20000"));
        Some(found.json()).filter(|found| found["status"] == "ended")
    })
}

#[test]
fn a_run_is_a_part_of_the_trace_of_its_request() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &["--log-format", "json"]);
    let response = run(&server, &parent("01"), "def main(args): return 1", json!({}));
    let id = response["result"]["run_id"].as_str().unwrap();
    let trace = collector.trace(TRACE, 8);

    let request = trace.named("POST /rpc");
    assert_eq!((hexadecimal(&request.parent_span_id).as_str(), request.flags), (PARENT, 0x301));
    assert_eq!((request.kind(), status(request)), (SpanKind::Server, StatusCode::Unset));
    assert_eq!(request.trace_state, "vendor=1,other=2");
    let found = attributes(request);
    assert_eq!(found["http.route"], "/rpc");
    assert_eq!(
        (found["http.request.method"].as_str(), found["http.response.status_code"].as_str()),
        ("POST", "200")
    );
    assert_eq!(trace.below(request), ["run_code"]);
    let call = trace.named("run_code");
    let found = attributes(call);
    assert_eq!(
        (found["rpc.system.name"].as_str(), found["rpc.method"].as_str()),
        ("jsonrpc", "run_code")
    );
    assert_eq!(found["wardian.tenant.id"], "local");
    assert_eq!(trace.below(call), ["run"]);
    let span = trace.named("run");
    let found = attributes(span);
    assert_eq!((found["wardian.run.id"].as_str(), status(span)), (id, StatusCode::Unset));
    assert_eq!(found["wardian.run.outcome"], "completed");
    assert_eq!(found["wardian.run.detached"], "false");
    let phases = trace.below(span);
    assert_eq!(phases, ["execute", "finish", "prepare", "queue", "set_up"]);
    let times = |span: &Span| (span.start_time_unix_nano, span.end_time_unix_nano);
    let mut last = times(span).0;
    for phase in ["prepare", "queue", "set_up", "execute", "finish"] {
        let (began, ended) = times(trace.named(phase));
        // The clock of the run and that of a phase are read one after the other.
        assert!(began.abs_diff(last) < 50_000_000 && ended >= began, "{phase}: {trace:#?}");
        last = ended;
    }

    let record = record(&server.client(), &response);
    assert_eq!(record["trace_id"], TRACE);
    let line: Value = serde_json::from_str(&server.wait_for_log(" ended: completed")).unwrap();
    assert_eq!((&line["run.id"], &line["span"]["run.id"]), (&json!(id), &json!(id)));
    assert_eq!(line["span"]["trace_id"], TRACE);
    assert_eq!(line["span"]["span_id"], hexadecimal(&span.span_id));
}

#[test]
fn every_kind_of_call_has_its_spans_and_its_end() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &[]);
    // One trace for each request: its last digit tells them apart.
    let trace = |digit: usize| format!("{}{digit}", &TRACE[..31]);
    let headers = |digit: usize| parent("01").replace(TRACE, &trace(digit));
    let raises = "class Mine(Exception): pass\ndef main(args): raise Mine('secret words')";
    let limits = json!({"limits": {"timeout_ms": 50}});
    run(&server, &headers(0), raises, json!({}));
    run(&server, &headers(1), "while True: pass", limits);
    let detached = run(&server, &headers(2), "print(1)", json!({"detach": true}));
    let accepting = format!("{}accept: text/event-stream\r\n", headers(3));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code",
        "params": {"language": "python", "code": "print(1)\nimport time\ntime.sleep(0.1)"}});
    let mut connection = server.connect();
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\n{accepting}content-length: {}\r\n\r\n{call}",
        call.to_string().len()
    ));
    let events = String::from_utf8(connection.rest()).unwrap();
    assert!(events.contains("event: response"), "{events}");
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "list_skills"},
        {"jsonrpc": "2.0", "id": 2, "method": "none of ours"},
        {"jsonrpc": "2.0", "id": 3, "method": "describe_skill", "params": {"name": "none.here"}}]);
    post(&server, &headers(4), &batch.to_string());
    post(&server, &headers(5), "{");

    for (digit, outcome) in [(0, "exception"), (1, "timeout")] {
        let found = collector.trace(&trace(digit), 8);
        let run = found.named("run");
        assert_eq!((status(run), &*attributes(run)["error.type"]), (StatusCode::Error, outcome));
        assert_eq!(attributes(run)["wardian.run.outcome"], outcome);
        // The call did what it was asked for.
        assert_eq!(status(found.named("run_code")), StatusCode::Unset);
    }
    let found = collector.trace(&trace(2), 8);
    let run = found.named("run");
    assert_eq!(attributes(run)["wardian.run.detached"], "true");
    assert_eq!(attributes(run)["wardian.run.id"], detached["result"]["run_id"].as_str().unwrap());
    assert_eq!(found.below(found.named("run_code")), ["run"]);
    assert_eq!(record(&server.client(), &detached)["trace_id"], trace(2));
    let found = collector.trace(&trace(3), 8);
    assert_eq!(found.below(found.named("run_code")), ["run"]);
    assert_eq!(found.below(found.named("run")).len(), 5);
    let found = collector.trace(&trace(4), 4);
    let calls = found.below(found.named("POST /rpc"));
    assert_eq!(calls, ["(none)", "describe_skill", "list_skills"]);
    let refused = found.named("describe_skill");
    let told = attributes(refused);
    assert_eq!(
        (told["error.type"].as_str(), told["rpc.response.status_code"].as_str()),
        ("skill_not_found", "-32602")
    );
    assert_eq!(status(refused), StatusCode::Error);
    assert_eq!(attributes(found.named("(none)"))["rpc.method"], "_OTHER");
    assert_eq!(collector.trace(&trace(5), 1).named("POST /rpc").kind(), SpanKind::Server);
}

#[test]
fn a_wait_for_tools_has_its_span() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &["--set", "skills.from_code=hello.*"]);
    let trace = |digit: usize| format!("{}{digit}", &TRACE[..31]);
    let headers = |digit: usize| parent("01").replace(TRACE, &trace(digit));
    let code = |name: &str| {
        format!(
            "import tools\ntry:\n    await tools.execute_skill('{name}', name='Ada')\n\
             except tools.ToolError:\n    pass"
        )
    };
    run(&server, &headers(0), &code("hello.world"), json!({}));
    let found = collector.trace(&trace(0), 21);
    let tool = found.named("tool");
    assert_eq!(found.below(found.named("run_code")), ["run", "run", "tool"], "{found:#?}");
    assert_eq!(found.below(tool), ["run"]);
    assert_eq!(attributes(tool)["wardian.tool.kind"], "skill");
    assert_eq!(status(tool), StatusCode::Unset);
    run(&server, &headers(1), &code("hello.nobody"), json!({}));
    let found = collector.trace(&trace(1), 15);
    let tool = found.named("tool");
    assert_eq!((status(tool), &*attributes(tool)["error.type"]), (StatusCode::Error, "refused"));
}

#[test]
fn a_client_that_leaves_ends_its_spans() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &[]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code",
        "params": {"language": "python", "code": "import time\ntime.sleep(100)"}});
    let mut connection = server.connect();
    connection.send(format!(
        "POST /rpc HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{}\
         content-length: {}\r\n\r\n{call}",
        parent("01"),
        call.to_string().len()
    ));
    let client = server.client();
    eventually(PATIENCE, || {
        let active = client.get("/v1/runs/active").json();
        (active["runs"][0]["status"] == "running").then_some(())
    });
    drop(connection);
    // The request, the call, the run, and the only phase that had an end.
    let found = collector.trace(TRACE, 4);
    for name in ["POST /rpc", "run_code", "run"] {
        assert_eq!(attributes(found.named(name))["error.type"], "cancelled", "{name}");
    }
    assert_eq!(found.below(found.named("run")), ["prepare"]);
}

/// All bytes that a collector gets are searched for everything that a client, a program or an operator
/// would not want there.
#[test]
fn own_words_in_spans_and_nothing_of_programs_or_clients() {
    let collector = Collector::start(Manner::Kind);
    let place = Command::new();
    let headers = place.file("headers", "x-collector-key: marker-of-operator\n");
    let file = format!("telemetry.headers_file={}", headers.display());
    let endpoint = format!("telemetry.otlp_endpoint={}", collector.url());
    let server = TestServer::start_in(
        &["--set", &endpoint, "--set", &file, "--log-level", "debug"],
        &[("WARDIAN_SECRET_ACME_KEY", "marker-of-secret")],
    );
    let client = server.client();
    let code = "# marker-of-code\nimport sys\ndef main(args):\n  print('marker-of-output')\n  \
        print('marker-of-error', file=sys.stderr)\n  open('marker-of-file', 'w').write('x')\n  \
        return 'marker-of-result'";
    let args = json!({"args": {"marker-of-name": "marker-of-value"}});
    output(&client.run_with(code, args));
    let class = "class MarkerOfClass(Exception): pass\ndef main(args): raise MarkerOfClass('marker-of-message')";
    client.run(class);
    client.create_text("marker-of-blob", "text/marker-of-kind");
    client.get("/v1/blobs/marker-of-path?marker-of-query=1");
    client.get("/marker-of-nowhere");
    client.refusal("describe_skill", json!({"name": "marker.of-skill"}));
    let headers = "authorization: Bearer marker-of-token\r\nuser-agent: marker-of-agent\r\n\
        cookie: marker-of-cookie\r\nbaggage: marker=of-baggage\r\n";
    let body = r#"{"jsonrpc": "2.0", "id": "marker-of-id", "method": "marker-of-method"}"#;
    post(&server, &format!("{headers}{}", parent("01")), body);
    post(&server, "traceparent: 00-marker-of-parent-01\r\ntracestate: marker=x\r\n", body);
    // Everything is sent before the server ends.
    drop(server);
    let spans = collector.spans();
    assert!(spans.len() >= 25, "{spans:#?}");
    assert!(collector.state.requests.lock().unwrap().iter().all(|(head, _)| {
        head.contains("x-collector-key: marker-of-operator\r\n")
            && head.starts_with("POST /v1/traces HTTP/1.1\r\n")
            && head.contains("application/x-protobuf")
    }));
    for body in collector.bodies() {
        let text = String::from_utf8_lossy(&body).to_lowercase();
        let at = text.find("marker");
        assert_eq!(at.map(|at| text.get(at..at + 30)), None);
    }
    let names = [
        "POST /rpc",
        "GET /v1/blobs/{id}",
        "GET",
        "run_code",
        "create_blob",
        "describe_skill",
        "(none)",
        "run",
        "prepare",
        "queue",
        "set_up",
        "execute",
        "finish",
    ];
    for span in &spans {
        assert!(names.contains(&span.name.as_str()), "{span:?}");
        assert!(span.attributes.len() <= 12, "{span:?}");
    }
}

#[test]
fn ratio_is_the_operators_unless_parents_are_followed() {
    let never = ["--set", "telemetry.sample_ratio=0"];
    let code = "def main(args): return 1";
    // Joined: the trace is the client's, and the decision is not.
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &never);
    let response = run(&server, &parent("01"), code, json!({}));
    assert_eq!(record(&server.client(), &response)["trace_id"], TRACE);
    assert!(server.wait_for_log("ended: completed").contains(TRACE));
    drop(server);
    assert_eq!(collector.state.connections.load(Ordering::SeqCst), 0);

    // Followed: the client decides, in both directions.
    let collector = Collector::start(Manner::Kind);
    let follow = ["--set", "telemetry.parents=follow"];
    let server = traced(&collector.url(), &[&never[..], &follow].concat());
    run(&server, "", code, json!({}));
    run(&server, &parent("00").replace(TRACE, &TRACE.replace('0', "1")), code, json!({}));
    run(&server, &parent("01"), code, json!({}));
    drop(server);
    let spans = collector.spans();
    assert_eq!(spans.len(), 8, "{spans:#?}");
    assert!(spans.iter().all(|span| hexadecimal(&span.trace_id) == TRACE));

    // Linked: the trace is the server's own, whatever the client sends.
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &["--set", "telemetry.parents=link"]);
    run(&server, &parent("00"), code, json!({}));
    drop(server);
    let spans = collector.spans();
    assert_eq!(spans.len(), 8, "{spans:#?}");
    assert!(spans.iter().all(|span| hexadecimal(&span.trace_id) != TRACE));
    let request = spans.iter().find(|span| span.name == "POST /rpc").unwrap();
    assert_eq!((request.parent_span_id.len(), request.flags), (0, 0x101));
    let [link] = request.links.as_slice() else { panic!("{request:#?}") };
    assert_eq!(
        (hexadecimal(&link.trace_id), hexadecimal(&link.span_id)),
        (TRACE.into(), PARENT.into())
    );
}

#[test]
fn a_share_of_the_requests_is_recorded() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &["--set", "telemetry.sample_ratio=0.5"]);
    let mut connection = server.connect();
    let call = r#"{"jsonrpc": "2.0", "id": 1, "method": "list_skills"}"#;
    let headers = format!("host: localhost\r\ncontent-type: application/json\r\n{}", parent("01"));
    for _ in 0..400 {
        // The same trace again and again does not help.
        assert_eq!(connection.post(&headers, call).status, 200);
    }
    drop(server);
    // Outside of these bounds once in 10^15 times.
    let count = collector.spans().len() / 2;
    assert!((120..=280).contains(&count), "{count}");
}

#[test]
fn without_a_collector_there_are_no_traces() {
    let collector = Collector::start(Manner::Kind);
    let url = collector.url();
    let server = TestServer::start_in(
        &["--log-format", "json"],
        &[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &url),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", &url),
            ("OTEL_TRACES_EXPORTER", "otlp"),
        ],
    );
    let response = run(&server, &parent("01"), "def main(args): return 1", json!({}));
    assert_eq!(record(&server.client(), &response).get("trace_id"), None);
    let line = server.wait_for_log("ended: completed");
    assert!(!line.contains("trace") && !line.contains("\"span\""), "{line}");
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.process().id)).unwrap();
    let names = threads.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")));
    assert!(names.flatten().all(|name| name.trim() != "traces"));
    drop(server);
    assert_eq!(collector.state.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn health_is_asked_without_a_trace_and_strangers_begin_none() {
    let collector = Collector::start(Manner::Kind);
    let server = traced(&collector.url(), &[]);
    let client = server.client();
    for path in ["/healthz", "/readyz", "/version", "/tools"] {
        assert_eq!(client.get(path).status, 200);
    }
    let refused =
        server.connect().send("GET /v1/runs HTTP/1.1\r\nhost: evil.example\r\n\r\n").head();
    assert_eq!(refused.status, 403);
    drop(server);
    assert_eq!(collector.spans(), []);
    assert_eq!(collector.state.connections.load(Ordering::SeqCst), 0);
}

/// The numbers of spans in the metrics: exported, dropped, failed, waiting.
fn counts(server: &TestServer) -> [u64; 4] {
    let line = server.wait_for_log("metrics are at http://");
    let address = line.rsplit_once("http://").unwrap().1.trim_end_matches("/metrics").to_owned();
    let body = Client::new(format!("http://{address}")).get("/metrics").body;
    let text = String::from_utf8(body).unwrap();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(".0").parse().unwrap()
    };
    let of = |result: &str| value(&format!("wardian_trace_spans_total{{result=\"{result}\"}}"));
    [of("exported"), of("dropped"), of("failed"), value("wardian_trace_spans_waiting")]
}

#[test]
fn spans_never_wait_for_a_collector_that_is_slow_or_gone() {
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = Collector::start(Manner::Silent);
    for url in [format!("http://{gone}"), silent.url()] {
        let server = traced(&url, &["--admin-listen", "127.0.0.1:0"]);
        // A batch of 20 calls has 21 spans.
        let call = |id| json!({"jsonrpc": "2.0", "id": id, "method": "list_skills"});
        let batch = Value::Array((0..20).map(call).collect()).to_string();
        let mut connection = server.connect();
        let headers = "host: localhost\r\ncontent-type: application/json\r\n";
        let mut sent = 0;
        let [exported, _, _, waiting] = loop {
            for _ in 0..50 {
                let answer = connection.post(headers, &batch).json();
                assert_eq!(answer.as_array().map(Vec::len), Some(20), "{answer}");
                sent += 21;
            }
            let counts = counts(&server);
            if counts[1] > 0 {
                break counts;
            }
            assert!(sent < 100_000, "{url}: nothing is dropped: {counts:?}");
        };
        output(&server.client().run("def main(args): return 1"));
        assert_eq!(exported, 0, "{url}");
        assert!(sent > 4_096 && waiting <= 4_096 + 512, "{url}: {sent} {waiting}");
        let log = server.log();
        assert!(log.matches("spans cannot be sent").count() <= 1, "{log}");
        // Dropping the server checks that it ends in time, and well.
    }
}

#[test]
fn a_hostile_collector_harms_nothing() {
    let elsewhere = Collector::start(Manner::Kind);
    for manner in [Manner::Endless, Manner::Talkative, Manner::Redirecting(elsewhere.address)] {
        let collector = Collector::start(manner);
        let server = traced(&collector.url(), &["--admin-listen", "127.0.0.1:0"]);
        let client = server.client();
        for _ in 0..20 {
            output(&client.run("def main(args): return 1"));
        }
        eventually(PATIENCE, || (!collector.bodies().is_empty()).then_some(()));
        eventually(PATIENCE, || {
            let [exported, _, failed, _] = counts(&server);
            (exported + failed > 0).then_some(())
        });
        let log = server.log();
        assert!(log.matches("spans cannot be sent").count() <= 1, "{log}");
        assert!(!log.contains('\x1b'), "{log}");
    }
    assert_eq!(elsewhere.bodies().len(), 0, "a redirect was followed");
}

#[test]
fn a_wrong_configuration_of_traces_ends_the_start() {
    let place = Command::new();
    let headers = place.file("headers", "no header\n");
    let file = format!("telemetry.headers_file={}", headers.display());
    for (settings, expected) in [
        (vec!["telemetry.otlp_endpoint=localhost:4318"], "must be the URL of a collector"),
        (vec!["telemetry.otlp_endpoint=http://127.0.0.1:1", &file], "line 1 of `"),
        (vec!["telemetry.otlp_endpoint=http://192.0.2.1", &file], "unencrypted"),
    ] {
        let arguments = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<_> =
            ["serve", "--listen", "127.0.0.1:0"].into_iter().chain(arguments).collect();
        let ended = place.run(&arguments).with(2);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(ended.stderr.trim().lines().count() <= 2, "{}", ended.stderr);
    }
}
