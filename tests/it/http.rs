//! The HTTP edge: clients that send too much, too slowly, too often or to the wrong path.

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::support::{Answer, Command, Connection, Reply, TestServer, eventually};

const HEADERS: &str = "Host: localhost\r\nContent-Type: application/json\r\n";
const GUIDE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide"}"#;

fn ask(connection: &mut Connection, head: &str) -> Reply {
    connection.send(head).reply()
}

fn assert_served(connection: &mut Connection) {
    let reply = connection.post(HEADERS, GUIDE);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.json()["result"]["content"].is_string());
}

#[test]
fn one_connection_serves_one_call_after_the_other() {
    let mut connection = TestServer::shared().connect();
    for _ in 0..3 {
        assert_served(&mut connection);
    }
}

#[test]
fn headers_that_are_too_large_or_too_many_are_refused() {
    for headers in [format!("X: {}\r\n", "x".repeat(17 << 10)), "X: y\r\n".repeat(200)] {
        let mut connection = TestServer::shared().connect();
        let reply =
            ask(&mut connection, &format!("GET /healthz HTTP/1.1\r\n{HEADERS}{headers}\r\n"));
        assert_eq!((reply.status, reply.body.len()), (431, 0));
        connection.rest();
    }
    assert_served(&mut TestServer::shared().connect());
}

#[test]
fn a_body_beyond_the_limit_is_refused_before_it_is_sent() {
    let mut connection = TestServer::shared().connect();
    let length = (16 << 20) + 1;
    let reply = ask(
        &mut connection,
        &format!("POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: {length}\r\n\r\n"),
    );
    assert_eq!((reply.status, reply.kind().as_str()), (413, "too_large"));
    assert_eq!(reply.header("connection"), "close");
    connection.rest();
}

#[test]
fn a_body_that_does_not_tell_its_length_is_refused_when_it_has_passed_the_limit() {
    let server = TestServer::start(&["--set", "http.max_body=64 KiB"]);
    let mut connection = server.connect();
    connection.send(format!("POST /rpc HTTP/1.1\r\n{HEADERS}Transfer-Encoding: chunked\r\n\r\n"));
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(4096));
    // The server may hang up in the middle; what it said before can still be read.
    while (0..64).all(|_| connection.try_send(&chunk).is_ok()) {}
    let reply = connection.reply();
    assert_eq!((reply.status, reply.kind().as_str()), (413, "too_large"));
    assert_served(&mut server.connect());
}

#[test]
fn slow_clients_lose_their_connection() {
    let server = TestServer::start(&[
        "--set",
        "http.header_timeout=200 ms",
        "--set",
        "http.body_timeout=200 ms",
        "--set",
        "http.idle_timeout=200 ms",
    ]);
    let (mut silent, mut in_headers) = (server.connect(), server.connect());
    in_headers.send("POST /rpc HTTP/1.1\r\nHost: loc");
    assert_eq!(silent.rest(), b"");
    assert_eq!(in_headers.rest(), b"");

    let mut in_body = server.connect();
    let reply =
        ask(&mut in_body, &format!("POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: 10\r\n\r\n{{"));
    assert_eq!((reply.status, reply.kind().as_str()), (408, "invalid_request"));
    in_body.rest();

    let mut idle = server.connect();
    assert_served(&mut idle);
    assert_eq!(idle.rest(), b"");
}

#[test]
fn only_json_sent_to_the_right_place_by_the_right_method_is_taken() {
    let json = "Content-Type: application/json\r\n";
    for (method, path, headers, status, kind) in [
        ("GET", "/rpc", format!("Host: localhost\r\n{json}"), 405, "invalid_request"),
        ("PUT", "/rpc", format!("Host: localhost\r\n{json}"), 405, "invalid_request"),
        ("OPTIONS", "/rpc", "Host: localhost\r\n".to_owned(), 405, "invalid_request"),
        ("POST", "/healthz", format!("Host: localhost\r\n{json}"), 405, "invalid_request"),
        ("POST", "/rpc/", format!("Host: localhost\r\n{json}"), 404, "invalid_request"),
        ("POST", "/../rpc", format!("Host: localhost\r\n{json}"), 404, "invalid_request"),
        ("POST", "/rpc", "Host: localhost\r\n".to_owned(), 415, "invalid_request"),
        (
            "POST",
            "/rpc",
            "Host: localhost\r\nContent-Type: text/plain\r\n".to_owned(),
            415,
            "invalid_request",
        ),
        ("POST", "/rpc", json.to_owned(), 400, "invalid_request"),
        ("POST", "/rpc", format!("Host: evil.example\r\n{json}"), 403, "forbidden"),
        ("POST", "/rpc", format!("Host: localhost.evil.example\r\n{json}"), 403, "forbidden"),
        (
            "POST",
            "/rpc",
            format!("Host: localhost\r\nOrigin: https://evil.example\r\n{json}"),
            403,
            "forbidden",
        ),
        ("POST", "/rpc", format!("Host: localhost\r\nOrigin: null\r\n{json}"), 403, "forbidden"),
    ] {
        let mut connection = TestServer::shared().connect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{GUIDE}",
            GUIDE.len()
        );
        let reply = ask(&mut connection, &request);
        let what = format!("{method} {path} {headers:?}: {reply:?}");
        assert_eq!(reply.status, status, "{what}");
        assert_eq!(reply.kind(), kind, "{what}");
        assert_eq!(reply.header("access-control-allow-origin"), "", "{what}");
    }
}

#[test]
fn an_operator_lets_other_names_and_websites_in() {
    let server = TestServer::start(&[
        "--set",
        "http.allowed_hosts=skills.example.com",
        "--set",
        "http.allowed_origins=https://app.example.com",
    ]);
    for (headers, status) in [
        ("Host: skills.example.com\r\n", 200),
        ("Host: localhost\r\nOrigin: https://app.example.com\r\n", 200),
        ("Host: example.com\r\n", 403),
        ("Host: localhost\r\nOrigin: http://app.example.com\r\n", 403),
    ] {
        let all = format!("{headers}Content-Type: application/json\r\n");
        assert_eq!(server.connect().post(&all, GUIDE).status, status, "{headers}");
    }
}

#[test]
fn clients_that_send_nothing_keep_nobody_out() {
    let server = TestServer::start(&["--set", "http.max_connections=4"]);
    let mut silent: Vec<Connection> = (0..12).map(|_| server.connect()).collect();
    assert_served(&mut server.connect());
    assert_eq!(silent[0].rest(), b"", "whoever was idle longest has to go");
}

#[test]
fn a_connection_beyond_the_limit_waits_while_all_others_are_busy_and_no_longer() {
    let server = TestServer::start(&["--set", "http.max_connections=2", "--workers", "2"]);
    let params =
        json!({"language": "python", "code": "import time\ndef main(args):\n    time.sleep(1)\n"});
    let run = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": params});
    let run = run.to_string();
    let length = run.len();
    let head = format!(
        "POST /rpc HTTP/1.1\r\n{HEADERS}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    );
    let mut busy: Vec<Connection> = (0..2).map(|_| server.connect()).collect();
    for connection in &mut busy {
        // The server has begun with this request: it can no longer be sent away.
        assert_eq!(ask(connection, &head).status, 100);
        connection.send(&run);
    }
    // Both stay open and idle after their answer, for longer than a test has patience.
    assert_served(&mut server.connect());
    for connection in &mut busy {
        let reply = connection.reply();
        assert_eq!(reply.json()["result"]["status"], "completed", "{reply:?}");
    }
}

#[test]
fn a_request_is_named_in_its_answer_and_a_run_in_the_log_without_its_content() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let answer: Answer = client.post(GUIDE);
    assert!(answer.header("x-request-id").starts_with("req_"), "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    let failed = client.run("print('SECRET-LOG')\nraise ValueError('SECRET-MESSAGE')\n");
    let line = server.wait_for_log(failed["run_id"].as_str().unwrap());
    assert!(line.contains("ValueError"), "{line}");
    assert!(!server.log().contains("SECRET"), "{}", server.log());
}

#[test]
fn a_server_that_is_interrupted_finishes_and_ends_well() {
    let server = TestServer::start(&[]);
    assert_served(&mut server.connect());
    let workers = server.workers();
    server.process().interrupt();
    assert_eq!(server.wait().code(), Some(0));
    assert!(workers.iter().all(|worker| worker.ends_within(Duration::from_secs(30))));
    assert!(server.log().contains("stopped"), "{}", server.log());
}

#[test]
fn a_server_without_its_engine_is_alive_says_what_it_waits_for_and_can_be_stopped() {
    // A package client that takes its time, until its folder is gone.
    let place = Command::new();
    let script = place.file("python3", "#!/bin/sh\nwhile [ -e \"$0\" ]; do sleep 0.1; done\n");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let server = TestServer::start_unready(&[
        "--cache-dir",
        place.folder().join("cache").to_str().unwrap(),
        "--set",
        &format!("engine.python={}", script.display()),
    ]);
    let client = server.client();
    assert_eq!(client.get("/healthz").status, 200);
    let ready = client.get("/readyz");
    assert_eq!((ready.status, &ready.json()["ready"]), (503, &json!(false)));
    // What executes nothing is answered as soon as the skills are read.
    eventually(Duration::from_secs(30), || (client.post(GUIDE).status == 200).then_some(()));
    let code = json!({"language": "python", "code": "1"});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": code});
    let refused = client.post(call.to_string());
    assert_eq!((refused.status, refused.error().1.as_str()), (503, "overloaded"));
    assert!(refused.header("retry-after").parse::<u32>().unwrap() > 0);
    server.process().terminate();
    assert_eq!(server.wait().code(), Some(0));
    eventually(Duration::from_secs(30), || server.workers().is_empty().then_some(()));
}

/// A request that would be executed if it were accepted, with this head and body.
fn refused_outright(server: &TestServer, request: &str) {
    // The rest is a second request, smuggled behind the first.
    let smuggled =
        format!("POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: {}\r\n\r\n{GUIDE}", GUIDE.len());
    let mut connection = server.connect();
    connection.try_send(format!("{request}{smuggled}")).ok();
    let reply = connection.reply();
    assert_eq!(reply.status, 400, "{request:?}: {reply:?}");
    let rest = connection.rest();
    assert!(rest.is_empty(), "{request:?}: {}", String::from_utf8_lossy(&rest));
}

#[test]
fn requests_whose_borders_are_not_clear_are_refused_and_nothing_is_executed() {
    let server = TestServer::shared();
    let length = format!("Content-Length: {}\r\n", GUIDE.len());
    let chunked = "Transfer-Encoding: chunked\r\n";
    let one_chunk = format!("{:x}\r\n{GUIDE}\r\n0\r\n\r\n", GUIDE.len());
    let post = |version: &str, headers: &str, body: &str| {
        format!("POST /rpc HTTP/{version}\r\n{HEADERS}{headers}\r\n{body}")
    };
    let lone_lf = post("1.1", &length, GUIDE).replace("\r\n", "\n");
    let one_lf = post("1.1", &format!("X: y\n{length}"), GUIDE);
    let last_lf = post("1.1", &length, GUIDE).replace("\r\n\r\n", "\r\n\n");
    for request in [
        lone_lf,
        one_lf,
        last_lf,
        post("1.1", &format!("{length}{chunked}"), &one_chunk),
        post("1.1", &format!("{chunked}{length}"), &one_chunk),
        post("1.1", &format!("{length}{length}"), GUIDE),
        post("1.1", &format!("Content-Length: {0}, {0}\r\n", GUIDE.len()), GUIDE),
        post("1.1", &format!("Content-Length: +{}\r\n", GUIDE.len()), GUIDE),
        post("1.1", "Transfer-Encoding: chunked, chunked\r\n", &one_chunk),
        post("1.1", "Transfer-Encoding: identity\r\n", GUIDE),
        post("1.1", &format!("{chunked}{chunked}"), &one_chunk),
        post("1.0", chunked, &one_chunk),
        post("1.1", &format!("X: a\r\n folded\r\n{length}"), GUIDE),
        post("1.1", &format!("Content-Length : {}\r\n", GUIDE.len()), GUIDE),
        post("1.1", &format!("X: a\0b\r\n{length}"), GUIDE),
        post("1.1", &format!("X: a\u{b}b\r\n{length}"), GUIDE),
        post("1.1", &format!("X: a\rb\r\n{length}"), GUIDE),
        post("1.1", chunked, &one_chunk.replacen("\r\n", ";a=b\r\n", 1)),
        post("1.1", chunked, &one_chunk.replacen("\r\n", "\n", 1)),
        post("1.1", chunked, &one_chunk.replacen("}\r\n", "}\n", 1)),
        post("1.1", chunked, &one_chunk.replacen("\r\n", " \r\n", 1)),
        post("1.1", chunked, &one_chunk.replace("0\r\n\r\n", "0\r\nContent-Length: 9\r\n\r\n")),
        post("1.1", &length, GUIDE).replace("POST /rpc", "POST http://elsewhere/rpc"),
    ] {
        refused_outright(server, &request);
    }
    let mut connection = server.connect();
    let reply = ask(&mut connection, &post("1.1", chunked, &one_chunk));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_served(&mut connection);
}

#[test]
fn a_browser_may_call_from_an_allowed_origin_and_from_no_other() {
    let origin = "https://console.example";
    let server = TestServer::start(&["--set", &format!("http.allowed_origins={origin}")]);
    let preflight = |path: &str, origin: &str, method: &str| {
        let head = format!(
            "OPTIONS {path} HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: {method}\r\n\
             Access-Control-Request-Headers: content-type\r\n\r\n"
        );
        ask(&mut server.connect(), &head)
    };
    let allowed = preflight("/rpc", origin, "POST");
    assert_eq!((allowed.status, allowed.body.len()), (204, 0));
    for (name, value) in [
        ("access-control-allow-origin", origin),
        ("access-control-allow-methods", "POST"),
        ("access-control-allow-headers", "authorization, content-type"),
        ("access-control-allow-credentials", ""),
        ("vary", "origin"),
    ] {
        assert_eq!(allowed.header(name), value, "{name}: {allowed:?}");
    }
    assert_eq!(preflight("/tools", origin, "GET").header("access-control-allow-methods"), "GET");
    assert_eq!(preflight("/nowhere", origin, "GET").status, 404);

    // The call itself, and a refusal of it, can be read by the website.
    let headers = format!("{HEADERS}Origin: {origin}\r\n");
    for body in [GUIDE, "no JSON"] {
        let reply = server.connect().post(&headers, body);
        assert_eq!(reply.header("access-control-allow-origin"), origin, "{reply:?}");
        assert!(reply.header("access-control-expose-headers").starts_with("x-request-id, retry"));
        assert_eq!(reply.header("vary"), "origin");
    }
    for evil in
        ["https://evil.example", "null", "http://console.example", "https://console.example.evil"]
    {
        for reply in [
            preflight("/rpc", evil, "POST"),
            server.connect().post(&format!("{HEADERS}Origin: {evil}\r\n"), GUIDE),
        ] {
            assert_eq!((reply.status, reply.kind().as_str()), (403, "forbidden"), "{evil}");
            assert_eq!(reply.header("access-control-allow-origin"), "", "{reply:?}");
            assert_eq!(reply.header("vary"), "origin");
        }
    }
    // Programs that are no browsers send no origin and need no permission.
    let plain = server.connect().post(HEADERS, GUIDE);
    assert_eq!((plain.status, plain.header("access-control-allow-origin")), (200, ""));
    let options = ask(&mut server.connect(), &format!("OPTIONS /rpc HTTP/1.1\r\n{HEADERS}\r\n"));
    assert_eq!(options.status, 405);
    // A preflight with a body is answered, and nothing of the body is taken for a request.
    let mut connection = server.connect();
    let smuggled = "POST /rpc HTTP/1.1\r\n\r\n";
    let reply = ask(
        &mut connection,
        &format!(
            "OPTIONS /rpc HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: POST\r\nContent-Length: {}\r\n\r\n{smuggled}",
            smuggled.len()
        ),
    );
    assert_eq!((reply.status, reply.header("connection")), (204, "close"));
    connection.rest();
}

/// Every bound of every schema that the server publishes, tried: the value is taken, and the one
/// beyond it is refused.
#[test]
fn published_bounds_are_those_of_the_server() {
    let settings = ["--set", "limits.max.timeout=40 s", "--set", "limits.max.memory=600 MiB"];
    let server = TestServer::start(&settings);
    let client = server.client();
    let tools = client.get("/tools").json();
    let run_code =
        tools.as_array().unwrap().iter().find(|tool| tool["name"] == "run_code").unwrap();
    let properties = &run_code["parameters"]["properties"];
    let limits = properties["limits"]["properties"].as_object().unwrap();
    assert_eq!(limits["timeout_ms"]["maximum"], 40_000);
    assert_eq!(limits["memory_bytes"]["maximum"], 600 << 20);
    assert_eq!(properties["timeout_ms"]["maximum"], 40_000);
    let mut tried = 0;
    for (name, schema) in limits {
        let is_taken = |value: u64| {
            let params = json!({"language": "python", "code": "1", "limits": {name: value}});
            let answer = client.call("run_code", params);
            answer.err().is_none_or(|error| error.kind != "invalid_params")
        };
        let least = schema["minimum"].as_u64().unwrap();
        assert!(!is_taken(least - 1), "{name}: {schema}");
        tried += 1;
        // The first call that asks for fuel has code compiled for minutes.
        assert!(name == "fuel" || is_taken(least), "{name}: {schema}");
        if let Some(most) = schema.get("maximum").map(|most| most.as_u64().unwrap()) {
            assert!(is_taken(most) && !is_taken(most + 1), "{name}: {schema}");
            tried += 1;
        }
    }
    assert!(tried >= 9, "{limits:?}");
}

#[test]
fn runs_of_the_self_test_are_not_logged_as_calls() {
    let server = TestServer::start(&[]);
    assert!(!server.log().contains("run `run_"), "{}", server.log());
    server.client().run("1");
    assert_eq!(server.wait_for_log("run `run_").matches("ended: completed").count(), 1);
}

#[test]
fn a_body_behind_its_head_leaves_the_connection_open() {
    let mut connection = TestServer::shared().connect();
    let client = TestServer::shared().client();
    let session = client.post_json("/v1/sessions", &json!({})).json();
    let session = format!("/v1/sessions/{}", session["id"].as_str().unwrap());
    for _ in 0..3 {
        let head =
            format!("POST {session}/interrupt HTTP/1.1\r\n{HEADERS}Content-Length: 2\r\n\r\n");
        connection.send(&head);
        // Long enough for an answer that does not wait for the body.
        thread::park_timeout(Duration::from_millis(50));
        let reply = ask(&mut connection, "{}");
        assert_eq!(reply.status, 202, "{reply:?}");
        assert_served(&mut connection);
    }
    client.delete(&session);
}
