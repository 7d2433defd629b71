//! The rules of the edge, without a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use rstest::rstest;
use serde_json::{Value, json};

use crate::http::edge::Observers;
use crate::http::router::{router_within, shared_state};
use crate::http::tests::support::{Fake, config, get, post, router_to, send};
use crate::http::{HttpConfig, Readiness, router};
use wardian_service::Authentication;
use wardian_telemetry::traces::Tracer;
use wardian_vocabulary::budget::MemoryBudget;
use wardian_vocabulary::units::ByteCount;

const GUIDE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"load_skills_protocol_guide"}"#;

async fn call(body: &str) -> (StatusCode, Value) {
    let (answer, value) = send(&router_to(Fake::default(), &config()), post(body.to_owned())).await;
    (answer.status(), value)
}

#[tokio::test]
async fn a_call_is_answered_with_its_id() {
    let (answer, value) = send(&router_to(Fake::default(), &config()), post(GUIDE)).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(value, json!({"jsonrpc": "2.0", "id": 7, "result": {"content": "# Guide"}}));
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
    assert_eq!(answer.headers()[header::CACHE_CONTROL], "no-store");
    assert!(answer.headers()["x-request-id"].to_str().unwrap().starts_with("req_"));
    assert!(!answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
}

#[rstest]
#[case::not_json("{", 200, -32700)]
#[case::empty("", 200, -32700)]
#[case::no_request("7", 200, -32600)]
#[case::empty_batch("[]", 200, -32600)]
#[case::unknown_method(r#"{"jsonrpc":"2.0","id":1,"method":"rpc.x"}"#, 200, -32601)]
#[case::unknown_parameter(
    r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide","params":{"x":1}}"#, 200, -32602
)]
#[case::refused(
    r#"{"jsonrpc":"2.0","id":1,"method":"describe_skill","params":{"name":"a"}}"#, 200, -32602
)]
#[case::overloaded(r#"{"jsonrpc":"2.0","id":1,"method":"list_skills"}"#, 503, 1004)]
#[tokio::test]
async fn errors_have_their_status_and_code(
    #[case] body: &str,
    #[case] status: u16,
    #[case] code: i64,
) {
    let (found, value) = call(body).await;
    assert_eq!((found.as_u16(), &value["error"]["code"]), (status, &json!(code)), "{value}");
}

#[tokio::test]
async fn an_overloaded_server_says_when_to_come_back() {
    let body = r#"{"jsonrpc":"2.0","id":"a","method":"list_skills"}"#;
    let (answer, value) = send(&router_to(Fake::default(), &config()), post(body)).await;
    assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
    assert_eq!(
        (&value["id"], &value["error"]["data"]["retry_after_ms"]),
        (&json!("a"), &json!(1000))
    );
}

#[tokio::test]
async fn no_secrets_out_of_a_failure_of_ours() {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"create_blob",
        "params":{"content":"x","kind":"text/plain"}}"#;
    let (answer, value) = send(&router_to(Fake::default(), &config()), post(body)).await;
    assert_eq!(answer.status(), 200);
    let error = &value["error"];
    assert_eq!(error["message"], "internal error; quote the request id when reporting it");
    assert_eq!(error["data"]["request_id"], answer.headers()["x-request-id"].to_str().unwrap());
    assert!(!value.to_string().contains("/var/lib"), "leaked: {value}");
}

#[tokio::test]
async fn notifications_do_nothing() {
    let fake = Fake::default();
    let router = router_to(fake.clone(), &config());
    let notification = r#"{"jsonrpc":"2.0","method":"load_skills_protocol_guide"}"#;
    for body in [notification.to_owned(), format!("[{notification},{notification}]")] {
        let (answer, value) = send(&router, post(body)).await;
        assert_eq!((answer.status(), value), (StatusCode::NO_CONTENT, Value::Null));
    }
    assert_eq!(fake.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_batch_is_answered_in_order_and_with_status_200() {
    let (status, value) = call(&format!(
        r#"[{GUIDE},3,{{"jsonrpc":"2.0","method":"list_skills"}},
            {{"jsonrpc":"2.0","id":8,"method":"list_skills"}}]"#
    ))
    .await;
    assert_eq!(status, 200);
    let seen: Vec<_> = value
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].clone()))
        .collect();
    assert_eq!(
        seen,
        [(json!(7), Value::Null), (Value::Null, json!(-32600)), (json!(8), json!(1004))]
    );
}

#[tokio::test]
async fn a_batch_beyond_its_cap_executes_nothing() {
    let fake = Fake::default();
    let router = router_to(fake.clone(), &HttpConfig { max_batch: 2, ..config() });
    let (_, value) = send(&router, post(format!("[{GUIDE},{GUIDE},{GUIDE}]"))).await;
    assert_eq!(value["error"]["code"], -32600);
    assert_eq!(fake.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_answers_of_a_batch_are_bounded_together() {
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"read_blob","params":{"blob_id":"b"}}"#;
    let fake = Fake::default();
    let (_, value) = {
        let router = router_to(fake.clone(), &config());
        send(&router, post(format!("[{}]", [read; 32].join(",")))).await
    };
    let answers = value.as_array().unwrap();
    let refused = answers.iter().filter(|answer| answer["error"]["data"]["kind"] == "too_large");
    assert_eq!((answers.len(), refused.count()), (32, 24));
    assert_eq!(fake.calls.load(Ordering::SeqCst), 8);
}

#[rstest]
#[case::none(&[], false)]
#[case::plain(&["application/json"], true)]
#[case::with_parameters(&["Application/JSON; charset=utf-8"], true)]
#[case::of_a_form(&["text/plain"], false)]
#[case::in_a_parameter(&["text/plain; a=application/json"], false)]
#[case::two(&["application/json", "text/plain"], false)]
#[case::suffix(&["application/jsonx"], false)]
#[tokio::test]
async fn only_json_is_taken(#[case] kinds: &[&str], #[case] is_taken: bool) {
    let mut request = post(GUIDE);
    request.headers_mut().remove(header::CONTENT_TYPE);
    for kind in kinds {
        request.headers_mut().append(header::CONTENT_TYPE, kind.parse().unwrap());
    }
    let (answer, value) = send(&router_to(Fake::default(), &config()), request).await;
    assert_eq!(answer.status(), if is_taken { 200 } else { 415 }, "{value}");
    assert_eq!(value["jsonrpc"], "2.0");
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_unread() {
    let config = HttpConfig { max_body: ByteCount::kibibytes(1), ..config() };
    let router = router_to(Fake::default(), &config);
    let endless = Body::new(http_body_util::Limited::new(Body::from(vec![b' '; 2_000]), 5_000));
    for body in [Body::from(vec![b' '; 1_025]), endless] {
        let (answer, value) = send(&router, post(body)).await;
        assert_eq!(answer.status(), 413);
        assert_eq!(answer.headers()[header::CONNECTION], "close");
        assert_eq!(value["error"]["message"], "a body may have at most 1 KiB");
        assert_eq!(value["error"]["data"]["kind"], "too_large");
    }
}

#[rstest]
#[case::elsewhere("GET", "/nothing", 404)]
#[case::rpc_read("GET", "/rpc", 405)]
#[case::preflight("OPTIONS", "/rpc", 405)]
#[case::rpc_put("PUT", "/rpc", 405)]
#[case::trace("TRACE", "/rpc", 405)]
#[case::post_elsewhere("POST", "/healthz", 405)]
#[case::trailing_slash("POST", "/rpc/", 404)]
#[tokio::test]
async fn wrong_paths_and_methods_are_answered_with_json(
    #[case] method: &str,
    #[case] path: &str,
    #[case] status: u16,
) {
    let mut request = get(path);
    *request.method_mut() = method.parse().unwrap();
    let (answer, value) = send(&router_to(Fake::default(), &config()), request).await;
    assert_eq!(answer.status(), status);
    assert_eq!(value["error"]["code"], -32600);
    if status == 405 {
        let allowed = answer.headers()[header::ALLOW].to_str().unwrap();
        assert_eq!(allowed, if path == "/rpc" { "POST" } else { "GET,HEAD" });
    }
}

#[tokio::test]
async fn foreign_hosts_and_websites_reach_nothing() {
    let fake = Fake::default();
    let router = router_to(fake.clone(), &config());
    for path in ["/rpc", "/healthz", "/nothing"] {
        for (name, value, status) in
            [(header::HOST, "evil.example", 403), (header::ORIGIN, "https://evil.example", 403)]
        {
            let mut request = post(GUIDE);
            *request.uri_mut() = path.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
            assert_eq!(send(&router, request).await.0.status(), status, "{path}");
        }
        let mut request = post(GUIDE);
        *request.uri_mut() = path.parse().unwrap();
        request.headers_mut().remove(header::HOST);
        assert_eq!(send(&router, request).await.0.status(), 400, "{path}");
    }
    assert_eq!(fake.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_server_is_alive_before_it_is_ready() {
    let readiness = Arc::new(Readiness::<Fake>::waiting_for("the engine"));
    let router = router(&config(), Arc::clone(&readiness));
    assert_eq!(send(&router, get("/healthz")).await.0.status(), 200);
    let (answer, value) = send(&router, get("/readyz")).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(value, json!({"ready": false, "reasons": ["waiting for the engine"]}));

    readiness.wait_for("workers");
    let (answer, value) = send(&router, post(GUIDE)).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(value["error"]["message"], "the server is not ready: waiting for workers");
    assert!(answer.headers().contains_key(header::RETRY_AFTER));

    readiness.open(Fake::default());
    assert_eq!(send(&router, get("/readyz")).await.1, json!({"ready": true, "reasons": []}));
    assert_eq!(send(&router, post(GUIDE)).await.0.status(), 200);

    readiness.drain();
    let (answer, value) = send(&router, get("/readyz")).await;
    assert_eq!((answer.status().as_u16(), &value["ready"]), (503, &json!(false)));
}

#[tokio::test]
async fn an_obstacle_makes_the_server_unready() {
    let obstacles = vec!["no worker is running".to_owned()];
    let router = router_to(Fake { obstacles, ..Fake::default() }, &config());
    let (answer, value) = send(&router, get("/readyz")).await;
    assert_eq!(answer.status(), 503);
    assert_eq!(value["reasons"], json!(["no worker is running"]));
}

#[tokio::test]
async fn the_version_names_the_program_and_nothing_of_the_machine() {
    let (_, value) = send(&router_to(Fake::default(), &config()), get("/version")).await;
    let version = env!("CARGO_PKG_VERSION");
    let sandbox = json!({"reset": "none"});
    let expected =
        json!({"name": "wardian", "version": version, "protocol": "0.1", "sandbox": sandbox});
    assert_eq!(value, expected);
}

#[tokio::test]
async fn the_tools_come_in_the_words_of_each_vendor() {
    let router = router_to(Fake::default(), &config());
    for (query, key) in [
        ("", "parameters"),
        ("?format=plain", "parameters"),
        ("?format=openai", "function"),
        ("?format=anthropic", "input_schema"),
    ] {
        let (answer, value) = send(&router, get(&format!("/tools{query}"))).await;
        assert_eq!(answer.status(), 200);
        let tools = value.as_array().unwrap();
        assert_eq!(tools.len(), 8);
        assert!(tools.iter().all(|tool| tool.get(key).is_some()), "{query}: {value}");
    }
    for query in ["?format=x", "?format=", "?x=openai", "?format=openai&format=x"] {
        assert_eq!(send(&router, get(&format!("/tools{query}"))).await.0.status(), 400, "{query}");
    }
}

#[tokio::test]
async fn a_head_request_learns_the_same_without_a_body() {
    let mut request: Request<Body> = get("/healthz");
    *request.method_mut() = "HEAD".parse().unwrap();
    let (answer, value) = send(&router_to(Fake::default(), &config()), request).await;
    assert_eq!((answer.status(), value), (StatusCode::OK, Value::Null));
}

#[tokio::test]
async fn a_server_that_other_machines_can_reach_warns() {
    for (address, is_exposed) in [
        ([0, 0, 0, 0], true),
        ([10, 0, 0, 5], true),
        ([127, 0, 0, 1], false),
        ([127, 9, 9, 9], false),
    ] {
        let config = HttpConfig::listening_on((address, 80).into());
        let (answer, value) = send(&router_to(Fake::default(), &config), get("/readyz")).await;
        assert_eq!(answer.status(), 200);
        let told = value["warnings"].to_string().contains("other machines can reach");
        assert_eq!(told, is_exposed, "{address:?}: {value}");
    }
}

#[tokio::test]
async fn schemas_show_the_bounds_of_the_server_once_it_is_ready() {
    let bound = |tools: &Value| tools[4]["parameters"]["properties"]["timeout_ms"].clone();
    let (_, tools) = send(&router_to(Fake::default(), &config()), get("/tools")).await;
    assert_eq!(bound(&tools)["maximum"], 7_000);
    let waiting: Readiness<Fake> = Readiness::waiting_for("the engine");
    let (_, tools) = send(&router(&config(), Arc::new(waiting)), get("/tools")).await;
    assert_eq!((&bound(&tools)["minimum"], bound(&tools).get("maximum")), (&json!(1), None));
}

#[tokio::test]
async fn allowed_origins_only_are_told_that_they_may_call() {
    let preflight = |origin: &str| {
        Request::options("/rpc")
            .header(header::HOST, "localhost")
            .header(header::ORIGIN, origin)
            .header(header::ACCESS_CONTROL_REQUEST_METHOD, "POST")
            .body(Body::empty())
            .unwrap()
    };
    let allowing = |origins: &[&str]| {
        let allowed_origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
        router_to(Fake::default(), &HttpConfig { allowed_origins, ..config() })
    };
    for (origins, origin, allowed) in [
        (&["https://a.example"][..], "https://a.example", Some("https://a.example")),
        (
            &["https://a.example", "https://b.example"],
            "https://b.example",
            Some("https://b.example"),
        ),
        (&["https://a.example"], "https://b.example", None),
        (&[], "https://a.example", None),
        (&["*"], "https://a.example", Some("*")),
    ] {
        let (answer, _) = send(&allowing(origins), preflight(origin)).await;
        let headers = answer.headers();
        let granted = headers.get(header::ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(granted.map(|origin| origin.to_str().unwrap()), allowed, "{origins:?}");
        assert_eq!(answer.status().as_u16(), if allowed.is_some() { 204 } else { 403 });
        assert!(!headers.contains_key(header::ACCESS_CONTROL_ALLOW_CREDENTIALS));
        let varies = !origins.is_empty() && origins != ["*"];
        assert_eq!(headers.contains_key(header::VARY), varies, "{origins:?}");
    }
}

#[tokio::test]
async fn a_body_is_charged_until_nothing_works_on_it_any_more() {
    let fake = Fake::default();
    let readiness = Readiness::waiting_for("nothing");
    readiness.open(fake.clone());
    let budget = MemoryBudget::new(ByteCount::mebibytes(64));
    let state = shared_state(
        &config(),
        Arc::new(readiness),
        Arc::clone(&budget),
        Authentication::Open,
        &Observers::default(),
    );
    let router = router_within(&config(), state, Tracer::default(), Router::new());
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"run_code","params":{"language":"python","code":"x"}}"#;
    let spaces = " ".repeat(1 << 20);
    for body in [format!("{call}{spaces}"), format!("[{GUIDE},{call}]{spaces}")] {
        let mut call = Box::pin(send(&router, post(body)));
        while fake.held.lock().is_empty() {
            let soon = tokio::time::timeout(Duration::from_millis(1), &mut call);
            assert!(soon.await.is_err(), "the call has an end");
        }
        drop(call);
        assert_eq!(fake.running.load(Ordering::SeqCst), 0);
        assert!(budget.used() >= ByteCount::mebibytes(3), "{}", budget.used());
        fake.held.lock().clear();
        assert_eq!(budget.used(), ByteCount::bytes(0));
    }
}

fn limited(calls: usize) -> (Fake, Router) {
    let fake = Fake { calls_left: Arc::new(AtomicUsize::new(calls)), ..Fake::default() };
    (fake.clone(), router_to(fake, &config()))
}

#[tokio::test]
async fn a_tenant_with_too_many_calls_is_told_when_to_come_back() {
    let (fake, router) = limited(1);
    assert_eq!(send(&router, post(GUIDE)).await.0.status(), 200);
    let (answer, value) = send(&router, post(GUIDE)).await;
    assert_eq!((answer.status().as_u16(), &value["id"]), (429, &json!(7)));
    assert_eq!(answer.headers()[header::RETRY_AFTER], "3");
    let error = &value["error"];
    assert_eq!((&error["code"], &error["data"]["kind"]), (&json!(1003), &json!("rate_limited")));
    assert_eq!(error["data"]["retry_after_ms"], 2_500);
    assert!(!answer.headers().contains_key(header::CONNECTION), "a small body was read");
    assert_eq!(fake.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_large_body_of_a_tenant_with_too_many_calls_is_not_read() {
    let unread = || Body::new(Unread(32 << 10));
    let (fake, router) = limited(0);
    let (answer, value) = send(&router, post(unread())).await;
    assert_eq!((answer.status().as_u16(), &value["error"]["code"]), (429, &json!(1003)));
    assert_eq!(
        (&value["id"], &answer.headers()[header::CONNECTION]),
        (&json!(null), &"close".parse().unwrap())
    );
    assert_eq!(fake.calls.load(Ordering::SeqCst), 0);
    let (fake, router) = limited(1);
    let padded = format!("{GUIDE}{}", " ".repeat(32 << 10));
    assert_eq!(send(&router, post(padded)).await.0.status(), 200, "a large body counts once");
    assert_eq!(fake.calls_left.load(Ordering::SeqCst), 0);
}

/// A body that must not be read.
struct Unread(u64);

impl hyper::body::Body for Unread {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        panic!("the body was read")
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(self.0)
    }
}

#[tokio::test]
async fn each_call_of_a_batch_counts() {
    let (fake, router) = limited(2);
    let (answer, value) = send(&router, post(format!("[{GUIDE},{GUIDE},{GUIDE}]"))).await;
    assert_eq!(answer.status(), 200);
    let codes: Vec<&Value> =
        value.as_array().unwrap().iter().map(|one| &one["error"]["code"]).collect();
    assert_eq!(codes, [&json!(null), &json!(null), &json!(1003)]);
    assert_eq!(fake.calls.load(Ordering::SeqCst), 2);
}
