//! Requests of the gateway itself: the rules of runs hold for them.

use crate::config::{EgressConfig, NetworkLimits};
use crate::error::{NetworkError, errno};
use crate::own_request::{OwnRequest, OwnResponse};
use crate::tests::support::{Authority, Gateway, Server, config, ok, policy};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;
use wardian_vocabulary::units::ByteCount;

const NAME: &str = "tools.example.com";

async fn send(
    gateway: &Gateway,
    pattern: &str,
    url: &str,
    limits: NetworkLimits,
) -> Result<OwnResponse, NetworkError> {
    let request = OwnRequest {
        method: "POST",
        url: url.to_owned(),
        headers: vec![("authorization".to_owned(), "Bearer hunter2".to_owned())],
        body: b"{}".to_vec(),
    };
    assert!(!format!("{request:?}").contains("hunter2"));
    gateway.egress.send_own(&TenantId::local(), policy(&[pattern]), limits, request).await
}

async fn body_of(mut response: OwnResponse) -> Result<String, NetworkError> {
    let mut body = Vec::new();
    while let Some(piece) = response.piece().await? {
        body.extend_from_slice(&piece);
    }
    Ok(String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn a_granted_request_is_sent_and_answered() {
    let server = Server::answering(None, |_| ok("hello")).await;
    let (gateway, url) = (Gateway::new(config()), format!("http://{NAME}:{}/mcp", server.port));
    let response = send(&gateway, &url, &url, NetworkLimits::default()).await.unwrap();
    assert_eq!((response.status(), response.header("content-length")), (200, Some("5")));
    assert_eq!(body_of(response).await.unwrap(), "hello");
    let head = server.heads.lock()[0].to_lowercase();
    assert!(head.starts_with("post /mcp http/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nauthorization: bearer hunter2\r\n"), "{head}");
    assert!(head.contains("\r\ncontent-length: 2\r\n"), "{head}");
}

#[tokio::test]
async fn certificates_are_checked() {
    let authority = Authority::new();
    for (name, is_reached) in [(NAME, true), ("other.example.com", false)] {
        let tls = authority.server(name, &["http/1.1"]);
        let server = Server::answering(Some(tls), |_| ok("")).await;
        let url = format!("https://{NAME}:{}/", server.port);
        let gateway = Gateway::trusting(&authority);
        let sent = send(&gateway, &url, &url, NetworkLimits::default()).await;
        assert_eq!(sent.is_ok(), is_reached, "{sent:?}");
    }
}

#[tokio::test]
async fn no_redirects_are_followed_and_nothing_else_is_reached() {
    let other = Server::answering(None, |_| ok("secret")).await;
    let to = format!("http://{NAME}:{}/", other.port);
    let place = to.clone();
    let answer = move |_: &str| {
        format!("HTTP/1.1 307 Elsewhere\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n")
            .into_bytes()
    };
    let server = Server::answering(None, answer).await;
    let gateway = Gateway::new(config());
    let url = format!("http://{NAME}:{}/v1/a", server.port);
    let response = send(&gateway, &url, &url, NetworkLimits::default()).await.unwrap();
    assert_eq!((response.status(), response.header("location")), (307, Some(to.as_str())));
    for elsewhere in [to.clone(), format!("http://{NAME}:{}/v1/b", server.port)] {
        let refused = send(&gateway, &url, &elsewhere, NetworkLimits::default()).await;
        assert_eq!(refused.unwrap_err().errno(), errno::EACCES, "{elsewhere}");
    }
    assert_eq!((*other.accepted.lock(), *server.accepted.lock()), (0, 1));
}

#[tokio::test]
async fn the_operators_rules_hold_for_the_operators_servers() {
    let server = Server::answering(None, |_| ok("")).await;
    let url = format!("http://{NAME}:{}/", server.port);
    let denied = vec![UrlPattern::parse("https://*.example.com").unwrap()];
    for config in [
        EgressConfig { denied, ..config() },
        EgressConfig { private_ranges: Vec::new(), ..config() },
        EgressConfig { is_enabled: false, ..config() },
    ] {
        let gateway = Gateway::new(config);
        let refused = send(&gateway, &url, &url, NetworkLimits::default()).await;
        assert_eq!(refused.unwrap_err().errno(), errno::EACCES);
    }
    assert_eq!(*server.accepted.lock(), 0);
}

#[tokio::test]
async fn a_body_is_cut_off_at_its_limit() {
    let server = Server::answering(None, |_| {
        b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789".to_vec()
    })
    .await;
    let url = format!("http://{NAME}:{}/", server.port);
    let gateway = Gateway::new(config());
    for (limit, is_whole) in [(10, true), (9, false)] {
        let response_body = ByteCount::bytes(limit);
        let limits = NetworkLimits { response_body, ..NetworkLimits::default() };
        let response = send(&gateway, &url, &url, limits).await.unwrap();
        assert_eq!(body_of(response).await.is_ok(), is_whole);
    }
}
