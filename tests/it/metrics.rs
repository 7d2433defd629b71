//! The address for operators: what is counted, and that clients decide nothing about its size.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::support::{Client, Command, Connection, TestServer, contained, eventually, repository};

/// A server with an address for operators, and that address.
fn measured(arguments: &[&str]) -> (TestServer, String) {
    let has_address = arguments.contains(&"--admin-listen");
    let address = if has_address { &[][..] } else { &["--admin-listen", "127.0.0.1:0"] };
    let arguments = [address, arguments].concat();
    let server = TestServer::start(&arguments);
    let line = server.wait_for_log("metrics are at http://");
    let address = line.rsplit_once("://").unwrap().1.trim_end_matches("/metrics").to_owned();
    (server, address)
}

/// The metrics of a server, by their names with labels.
fn metrics(address: &str) -> BTreeMap<String, f64> {
    let answer = Client::new(format!("http://{address}")).get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    };
    lines.map(pair).collect()
}

#[test]
fn runs_calls_and_requests_are_counted_by_their_ends() {
    let (server, admin) = measured(&[]);
    let client = server.client();
    client.run("def main(args): return 1");
    client.run("class Mine(Exception): pass\ndef main(args): raise Mine()");
    let limits = json!({"timeout_ms": 100});
    client.run_with("def main(args):\n  while True: pass", json!({"limits": limits}));
    client.get("/nothing/here");
    client.refusal("run_code", json!({"language": "cobol", "code": ""}));
    client.get("/v1/runs");
    let found = metrics(&admin);
    for (name, value) in [
        ("wardian_runs_total{tenant=\"local\",outcome=\"completed\"}", 1.0),
        ("wardian_runs_total{tenant=\"local\",outcome=\"exception\"}", 1.0),
        ("wardian_runs_total{tenant=\"local\",outcome=\"timeout\"}", 1.0),
        ("wardian_run_phase_seconds_count{phase=\"queue\"}", 3.0),
        ("wardian_rpc_calls_total{method=\"run_code\",result=\"ok\"}", 3.0),
        ("wardian_http_requests_total{route=\"(other)\",status=\"404\"}", 1.0),
        ("wardian_http_requests_total{route=\"/v1/runs\",status=\"200\"}", 1.0),
        ("wardian_runs_running", 0.0),
        ("wardian_runs_queued", 0.0),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name}: {found:#?}");
    }
    eventually(Duration::from_secs(60), || {
        (metrics(&admin)["wardian_records_total{result=\"written\"}"] >= 3.0).then_some(())
    });
    assert_eq!(found["wardian_records_total{result=\"lost\"}"], 0.0);
    // Three runs on two workers or so: each reset but the last of a worker is known by now. The
    // first run of a server follows its self-test.
    let resets = found["wardian_run_phase_seconds_count{phase=\"reset\"}"];
    assert!((1.0..=3.0).contains(&resets), "{resets}");
    assert!(found["wardian_run_phase_seconds_sum{phase=\"reset\"}"] > 0.0);
    assert!(found["wardian_run_phase_seconds_sum{phase=\"execute\"}"] >= 0.1);
    let cpu = found["wardian_run_cpu_seconds_total{tenant=\"local\"}"];
    assert!(cpu > 0.0 && cpu < 60.0, "{cpu}");
    assert!(found["wardian_workers{state=\"idle\"}"] >= 1.0);
    assert!(found["wardian_skills"] >= 5.0 && found["process_open_fds"] > 5.0);
    assert!(found["wardian_http_connections"] >= 1.0);
}

#[test]
fn no_client_adds_series() {
    let (server, admin) = measured(&[]);
    let client = server.client();
    client.run("def main(args): raise KeyError(1)");
    client.get("/a");
    client.post("{}");
    client.post(r#"{"jsonrpc":"2.0","id":1,"method":"none"}"#);
    let names = |found: BTreeMap<String, f64>| found.into_keys().collect::<BTreeSet<_>>();
    let before = names(metrics(&admin));
    for number in 0..20 {
        client.run(&format!("class E{number}(Exception): pass\ndef main(args): raise E{number}()"));
        client.get(&format!("/{number}"));
        client.post(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"none{number}"}}"#));
    }
    assert_eq!(names(metrics(&admin)), before);
}

#[test]
fn the_address_for_operators_serves_operators_only() {
    let (server, admin) = measured(&[]);
    let own = Client::new(format!("http://{admin}"));
    assert_eq!(own.get("/readyz").status, 200);
    assert_eq!(own.get("/healthz").status, 200);
    assert_eq!(own.get("/v1/blobs").status, 404);
    assert_eq!(own.post("{}").status, 404);
    assert_eq!(server.client().get("/metrics").status, 404);
    let rebound = Connection::open(&admin)
        .send("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        .reply();
    assert_eq!(rebound.status, 403);
    let website = Connection::open(&admin)
        .send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n")
        .reply();
    assert_eq!(website.status, 403);
}

#[test]
fn an_address_for_operators_that_is_taken_is_named() {
    let place = Command::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended =
        place.run(&["serve", "--listen", "127.0.0.1:0", "--admin-listen", &address]).with(2);
    let says = [address.as_str(), "Address already in use", "`--admin-listen` (`admin_listen`)"];
    assert!(contained(&ended.stderr, says).is_empty(), "{}", ended.stderr);
    assert!(!place.folder().join("data").try_exists().unwrap());
}

#[test]
fn sessions_are_counted_by_their_events_and_what_they_take() {
    let (server, admin) = measured(&[]);
    let client = server.client();
    let run = |code: &str, session: &str| client.run_with(code, json!({"session": session}));
    let id = run("x = 1", "new")["session"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{id}");
    let forks = client.post_json(&format!("{path}/fork"), &json!({"count": 2})).json();
    let fork = forks["forks"][0]["id"].as_str().unwrap();
    run("x", fork);
    let call = |code: &str| client.run_with(code, json!({"tools": [{"name": "find"}]}));
    let asked = call("await tools.find()");
    let answers = json!([{"id": "c1-r1", "error": "no"}]);
    client.run_with("", json!({"session": asked["session"]["id"], "answers": answers}));
    client.delete(&format!("/v1/sessions/{fork}"));
    run("await ainput()", &id);
    let found = eventually(Duration::from_secs(60), || {
        let found = metrics(&admin);
        // The sums are read from time to time.
        (found["wardian_sessions_waiting"] == 1.0).then_some(found)
    });
    for (name, value) in [
        ("wardian_tool_calls_total{result=\"failed\"}", 1.0),
        ("wardian_tool_calls_total{result=\"answered\"}", 0.0),
        // One of them is that of the run that has called a tool.
        ("wardian_session_events_total{event=\"created\"}", 2.0),
        ("wardian_session_events_total{event=\"forked\"}", 2.0),
        ("wardian_session_events_total{event=\"closed\"}", 2.0),
        ("wardian_session_events_total{event=\"damaged\"}", 0.0),
        ("wardian_session_resume_seconds_count", 1.0),
        ("wardian_sessions", 2.0),
        ("wardian_session_images", 1.0),
    ] {
        assert_eq!(found.get(name), Some(&value), "{name}: {found:#?}");
    }
    assert!(found["wardian_session_resume_seconds_sum"] > 0.0);
    assert!(found["wardian_session_parked_bytes"] > 10_000.0, "{found:#?}");
    assert!(found["wardian_session_image_bytes"] > 10_000_000.0, "{found:#?}");
}

/// The names of metrics in a text.
fn names_in(text: &str) -> BTreeSet<String> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_name(letter));
    words
        .filter(|word| word.starts_with("wardian_") && *word != "wardian_")
        .map(str::to_owned)
        .collect()
}

#[test]
fn dashboards_alerts_and_documents_use_metrics_that_there_are() {
    let (server, admin) = measured(&[]);
    server.client().run("def main(args): return 1");
    let found: BTreeSet<String> = metrics(&admin)
        .into_keys()
        .map(|name| name.split('{').next().unwrap().to_owned())
        .collect();
    let documents = fs::read_to_string(repository("docs/operators.md")).unwrap();
    let documented = names_in(&documents);
    for file in ["deploy/prometheus/alerts.yml", "deploy/grafana/wardian.json"] {
        let used = names_in(&fs::read_to_string(repository(file)).unwrap());
        assert!(used.len() > 4, "{file} uses metrics");
        let missing: Vec<_> = used.difference(&found).collect();
        assert!(missing.is_empty(), "{file} uses {missing:?}, and there are {found:#?}");
    }
    let own = found.iter().filter(|name| name.starts_with("wardian_"));
    let base = |name: &str| {
        let ends = ["_total", "_bucket", "_sum", "_count"];
        let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        name.to_owned()
    };
    let own: BTreeSet<String> = own.map(|name| base(name)).collect();
    let documented: BTreeSet<String> = documented.iter().map(|name| base(name)).collect();
    let undocumented: Vec<_> = own.difference(&documented).collect();
    assert!(undocumented.is_empty(), "docs/operators.md does not list {undocumented:?}");
}

#[test]
fn top_shows_a_running_server() {
    let (server, admin) = measured(&[]);
    let url = format!("http://{admin}");
    let place = Command::new();
    let arguments = ["top", "--url", &url, "--interval", "1", "--count", "2", "--json"];
    let watching = std::thread::scope(|scope| {
        let watching = scope.spawn(|| place.run(&arguments).with(0));
        for _ in 0..20 {
            server.client().run("def main(args): return 1");
            std::thread::park_timeout(Duration::from_millis(60));
        }
        watching.join().unwrap()
    });
    let views: Vec<serde_json::Value> =
        watching.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(views.len(), 2);
    let completed = |view: &serde_json::Value| view["runs"]["completed"].as_f64().unwrap_or(0.0);
    assert!(views.iter().map(completed).sum::<f64>() > 2.0, "{views:#?}");
    assert_eq!(views[0]["tenants"][0]["tenant"], "local");
    let shown = place.run(&["top", "--server", &url, "--interval", "0.2", "--count", "1"]).with(0);
    let says = ["workers", "runs", "phase", "execute", "tenant"];
    assert!(contained(&shown.stdout, says).is_empty(), "{}", shown.stdout);
    assert!(!shown.stdout.contains('\u{1b}'), "a pipe is no terminal");
}

#[test]
fn top_says_what_is_missing() {
    let place = Command::new();
    let ended = place.run(&["top"]).with(2);
    assert!(ended.stderr.contains("--admin-listen 127.0.0.1:9090"), "{}", ended.stderr);
    let ended = place.run(&["top", "--server", "http://127.0.0.1:1"]).with(2);
    assert!(ended.stderr.contains("http://127.0.0.1:1/metrics cannot be read"), "{}", ended.stderr);
    let own = format!("http://{}", TestServer::shared().address);
    assert!(place.run(&["top", "--server", &own]).with(2).stderr.contains("cannot be read"));
    place.run(&["top", "--interval", "0"]).with(2);
}

#[test]
fn an_address_for_operators_beyond_loopback_is_no_exposure() {
    let (_server, admin) = measured(&["--admin-listen", "0.0.0.0:0"]);
    let port = admin.rsplit_once(':').unwrap().1;
    let ready = Client::new(format!("http://127.0.0.1:{port}")).get("/readyz").json();
    assert_eq!(ready, json!({"ready": true, "reasons": []}));
}
