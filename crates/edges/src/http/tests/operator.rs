//! What a caller learns of itself and of the server, and requests of the server's own pages.

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use serde_json::json;
use tower::ServiceExt as _;

use crate::http::HttpConfig;
use crate::http::tests::support::{Fake, config, get, post, router_to, send};

const GUIDE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"load_skills_protocol_guide"}"#;

/// A call that a browser sends for a page at this origin.
fn from_page(origin: &str) -> Request<Body> {
    let mut request = post(GUIDE);
    request.headers_mut().insert(header::ORIGIN, origin.parse().unwrap());
    request
}

#[tokio::test]
async fn a_caller_learns_its_tenant_and_its_scopes() {
    let (answer, value) = send(&router_to(Fake::default(), &config()), get("/v1/caller")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let scopes = ["discover", "execute", "code", "blobs", "approve", "publish", "admin"];
    assert_eq!(value, json!({"tenant": "local", "scopes": scopes, "credential": null}));
    assert_eq!(answer.headers()["cross-origin-resource-policy"], "same-origin");
}

#[tokio::test]
async fn an_operator_reads_metrics_at_the_address_of_calls() {
    let router = router_to(Fake::default(), &config());
    let answer = router.clone().oneshot(get("/v1/metrics")).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let kind = answer.headers()[header::CONTENT_TYPE].to_str().unwrap();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let (_, keys) = send(&router, get("/v1/keys")).await;
    assert_eq!(keys, json!({"accepted": false, "keys": []}));
}

#[tokio::test]
async fn these_requests_count_as_calls() {
    for path in ["/v1/caller", "/v1/keys", "/v1/metrics"] {
        let fake = Fake { calls_left: std::sync::Arc::new(0.into()), ..Fake::default() };
        let (answer, value) = send(&router_to(fake, &config()), get(path)).await;
        assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS, "{path}");
        assert_eq!(value["error"]["data"]["kind"], "rate_limited");
    }
}

#[tokio::test]
async fn pages_of_the_server_may_call_it_and_others_may_not() {
    let with_console = router_to(Fake::default(), &config());
    let (answer, _) = send(&with_console, from_page("http://localhost:8080")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(!answer.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    let (answer, _) = send(&with_console, from_page("http://localhost:3000")).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    let without = HttpConfig { serves_console: false, ..config() };
    let (answer, _) =
        send(&router_to(Fake::default(), &without), from_page("http://localhost:8080")).await;
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
}
