//! Servers that lie: each lie costs one call, and the next one is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::config::{CredentialScope, ToolLimits, ToolServerConfig};
use crate::server::{ASKED_AGAIN, ToolServer};
use crate::tests::support::{
    EVENTS, HttpStub, Loopback, Sent, call, catalogue, in_events, in_json, mcp, quick, raw,
    response, run, soon, text_of, text_result, tool, web,
};
use crate::{ToolCallOrder, ToolError, ToolGrants};
use wardian_egress::Egress;
use wardian_egress::config::EgressConfig;
use wardian_stores::secrets::{Secrets, SecretsConfig};
use wardian_vocabulary::budget::CallMemory;
use wardian_vocabulary::units::ByteCount;

/// What the server does, by the argument `lie`.
fn lie(id: &Value, body: &Value) -> Sent {
    let json_head =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";
    let other = json!(id.as_u64().unwrap() + 1_000);
    match body["params"]["arguments"]["lie"].as_str().unwrap_or_default() {
        "huge" => in_json(&text_result(id, &"x".repeat(100_000))),
        "slow" => Sent::Nothing,
        "endless" => Sent::Endless(json_head.into(), vec![b' '; 1_000]),
        "endless events" => {
            let event = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n".repeat(20);
            Sent::Endless(EVENTS.into(), event)
        }
        "endless event" => Sent::Endless(EVENTS.into(), b"data: x\n".repeat(100)),
        "slow events" => Sent::Bytes(EVENTS.into()),
        "wrong id" => in_json(&text_result(&other, "stolen")),
        "wrong id in events" => in_events(&[text_result(&other, "stolen")]),
        "text id" => in_json(&text_result(&json!(id.to_string()), "stolen")),
        "no json" => response("200 OK", "content-type: application/json\r\n", "<html>"),
        "no type" => response("200 OK", "", "{}"),
        "batch" => in_json(&json!([text_result(id, "a")])),
        "both" => in_json(&json!({"id": id, "result": {}, "error": {"code": 1, "message": ""}})),
        "twice" => {
            let body = format!(r#"{{"id":{id},"result":{{"structuredContent":{{"a":1,"a":2}}}}}}"#);
            response("200 OK", "content-type: application/json\r\n", &body)
        }
        "deep" => {
            let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
            let body = format!(r#"{{"id":{id},"result":{{"structuredContent":{deep}}}}}"#);
            response("200 OK", "content-type: application/json\r\n", &body)
        }
        "redirect" => response("307 There", "location: http://169.254.169.254/\r\n", ""),
        "error" => response("500 Oh", "", "stack trace"),
        "unauthorised" => response("401 No", "", ""),
        "no http" => Sent::Bytes(b"hello".to_vec()),
        "closed" => Sent::Bytes(Vec::new()),
        _ => in_json(&text_result(id, "true")),
    }
}

const LIES: [(&str, &str); 20] = [
    ("huge", "larger than"),
    ("slow", "in time"),
    ("endless", "larger than"),
    ("endless events", "larger than"),
    ("endless event", "larger than"),
    ("slow events", "no answer"),
    ("wrong id", "another request"),
    ("wrong id in events", "another request"),
    ("text id", "another request"),
    ("no json", "no message"),
    ("no type", "neither JSON nor events"),
    ("batch", "no message"),
    ("both", "no message"),
    ("twice", "no single meaning"),
    ("deep", "no single meaning"),
    ("redirect", "redirect"),
    ("error", "status 500"),
    ("unauthorised", "refuses the credentials"),
    ("no http", "cannot be reached"),
    ("closed", "cannot be reached"),
];

#[tokio::test]
async fn each_lie_costs_one_call() {
    let server = mcp(|| json!([tool("find")]), lie).await;
    let config = quick(web(&server.url()));
    let timeout = Duration::from_secs(3);
    let limits = ToolLimits { timeout, result: ByteCount::kibibytes(20), ..config.limits };
    let catalogue = catalogue(ToolServerConfig { limits, ..config });
    let tools = run(&catalogue);
    for (lie, expected) in LIES {
        let begun = Instant::now();
        let called = call(&tools, "s.find", &json!({"lie": lie})).await;
        let message = called.map(|answer| answer.value).unwrap_err().to_string();
        assert!(message.contains(expected), "{lie}: {message}");
        assert!(!message.contains("stack trace") && !message.contains("169.254"), "{message}");
        assert!(begun.elapsed() < Duration::from_secs(15), "{lie}");
        let honest = call(&tools, "s.find", &json!({"lie": "none"})).await;
        assert_eq!(text_of(&honest), "\"true\"", "after {lie}");
    }
}

#[tokio::test]
async fn a_slow_server_keeps_its_other_calls_waiting_no_longer_than_their_time() {
    let server = mcp(|| json!([tool("find")]), lie).await;
    let config = quick(web(&server.url()));
    let limits = ToolLimits { concurrent: 1, ..config.limits };
    let catalogue = catalogue(ToolServerConfig { limits, ..config });
    let (one, other) = (run(&catalogue), run(&catalogue));
    assert!(call(&one, "s.find", &json!({})).await.is_ok());
    let (slow, honest) = (raw(&json!({"lie": "slow"})), raw(&json!({})));
    let within = |arguments, time| ToolCallOrder {
        tool: "s.find",
        arguments,
        listed: None,
        approval: None,
        deadline: Instant::now() + time,
    };
    // The slow call has its turn first, and much more time.
    let memory = CallMemory::unlimited();
    let (slow, late) = tokio::join!(
        one.call(within(&slow, Duration::from_secs(2)), &memory),
        other.call(within(&honest, Duration::from_millis(100)), &memory)
    );
    assert!(matches!(slow, Err(ToolError::Late { .. })), "{slow:?}");
    assert!(matches!(late, Err(ToolError::Late { .. })), "{late:?}");
    assert_eq!(server.asked("tools/call").len(), 2, "a call whose time is over is not sent");
    assert!(call(&other, "s.find", &json!({})).await.is_ok());
}

/// Answers the request for a listing: its id, and the request.
type List = Box<dyn Fn(&Value, &Value) -> Sent + Send + Sync>;

#[tokio::test]
async fn a_lying_listing_is_an_unavailable_server() {
    let endless_pages = |id: &Value, body: &Value| {
        let cursor = body["params"]["cursor"].as_str().unwrap_or_default();
        let result = json!({"tools": [], "nextCursor": format!("{cursor}x")});
        in_json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    };
    let same_page = |id: &Value, _: &Value| {
        in_json(&json!({"id": id, "result": {"tools": [], "nextCursor": "x"}}))
    };
    let huge = |id: &Value, _: &Value| {
        let tools: Vec<_> = (0..2_000).map(|n| tool(&format!("t{n}"))).collect();
        in_json(&json!({"id": id, "result": {"tools": tools}}))
    };
    let malformed = |id: &Value, _: &Value| in_json(&json!({"id": id, "result": {"tools": 5}}));
    let lists: [(List, &str); 4] = [
        (Box::new(endless_pages), "no end"),
        (Box::new(same_page), "no end"),
        (Box::new(huge), "larger than"),
        (Box::new(malformed), "malformed"),
    ];
    for (list, expected) in lists {
        let server = HttpStub::start(move |_, body| match body["method"].as_str() {
            Some("tools/list") => list(&body["id"], body),
            Some("initialize") => {
                in_json(&json!({"id": body["id"], "result": {"protocolVersion": "2025-11-25"}}))
            }
            _ => response("202 Accepted", "", ""),
        })
        .await;
        let config = quick(web(&server.url()));
        let limits = ToolLimits { listing: ByteCount::kibibytes(64), ..config.limits };
        let catalogue = catalogue(ToolServerConfig { limits, ..config });
        let offered = run(&catalogue).offered(soon(), &CallMemory::unlimited()).await;
        assert!(offered.tools.is_empty());
        let [(name, reason)] = offered.unavailable.as_slice() else { panic!("{expected}") };
        assert!(name == "s" && reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_was_too_slow_keeps_nobody_waiting_again() {
    let lists = Arc::new(AtomicBool::new(false));
    let listed = Arc::clone(&lists);
    let server = HttpStub::start(move |_, body| match body["method"].as_str() {
        Some("tools/list") if listed.load(Ordering::SeqCst) => {
            in_json(&json!({"id": body["id"], "result": {"tools": [tool("find")]}}))
        }
        Some("tools/list") => Sent::Nothing,
        Some("initialize") => {
            in_json(&json!({"id": body["id"], "result": {"protocolVersion": "2025-11-25"}}))
        }
        _ => response("202 Accepted", "", ""),
    })
    .await;
    let config = quick(web(&server.url()));
    let timeout = Duration::from_secs(1);
    let limits = ToolLimits { timeout, ..config.limits };
    let catalogue = catalogue(ToolServerConfig { limits, ..config });
    let asked = async || {
        let began = Instant::now();
        let offered = run(&catalogue).offered(soon(), &CallMemory::unlimited()).await;
        assert_eq!(offered.tools.len() + offered.unavailable.len(), 1);
        (offered.tools.len(), began.elapsed() >= timeout)
    };
    assert_eq!(asked().await, (0, true), "whoever comes first waits for it");
    for _ in 0..3 {
        assert_eq!(asked().await, (0, false));
    }
    assert_eq!(server.asked("tools/list").len(), 1);
    let much_later = || tokio::time::sleep(ASKED_AGAIN);
    much_later().await;
    assert_eq!(asked().await, (0, false), "it is asked again while the run goes on");
    tokio::time::sleep(timeout * 2).await;
    assert_eq!(server.asked("tools/list").len(), 2);
    lists.store(true, Ordering::SeqCst);
    assert_eq!(asked().await, (0, false));
    much_later().await;
    assert_eq!(asked().await, (0, false));
    for _ in 0..100 {
        if asked().await == (1, false) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("its tools are not offered again");
}

#[tokio::test]
async fn a_server_that_was_too_slow_for_one_tenant_lists_its_tools_to_another() {
    for (credentials, is_shared) in
        [(CredentialScope::Tenant, false), (CredentialScope::Server, true)]
    {
        let server = mcp(|| json!([tool("find")]), lie).await;
        let config = ToolServerConfig { credentials, ..quick(web(&server.url())) };
        let egress = Egress::new(EgressConfig::default(), Arc::new(Loopback)).unwrap();
        let secrets = Arc::new(Secrets::new(&SecretsConfig::default()));
        let server = ToolServer::new("s", config, &egress, &secrets);
        let (acme, beta) = ("acme".parse().unwrap(), "beta".parse().unwrap());
        let late = ToolError::Late { tool: "s".to_owned() };
        server.note_unlisted(&acme, &late, Duration::ZERO);
        assert!(server.was_late(&acme) && !server.is_asked_again(&acme));
        assert_eq!(server.was_late(&beta), is_shared);
    }
}

#[tokio::test]
async fn a_tenant_without_credentials_never_acts_as_the_operator() {
    let server = mcp(|| json!([tool("find")]), lie).await;
    let credentials = CredentialScope::Tenant;
    let config = ToolServerConfig { credentials, ..quick(web(&server.url())) };
    let catalogue = catalogue(config);
    let acme = catalogue.open("acme".parse().unwrap(), ToolGrants::Operator);
    let called = call(&acme, "s.find", &json!({})).await.unwrap_err();
    assert!(called.for_operator().contains("TOOL_TOKEN"), "{}", called.for_operator());
    assert!(server.asked("initialize").is_empty(), "nothing is sent");
    assert!(call(&run(&catalogue), "s.find", &json!({})).await.is_ok());
}

#[tokio::test]
async fn a_server_of_another_protocol_is_named() {
    let server = HttpStub::start(|_, body| {
        in_json(&json!({"id": body["id"], "result": {"protocolVersion": "1999-01-01"}}))
    })
    .await;
    let catalogue = catalogue(quick(web(&server.url())));
    let called = call(&run(&catalogue), "s.find", &json!({})).await.unwrap_err().to_string();
    assert!(called.contains("`1999-01-01`"), "{called}");
}
