//! Filters of responses: what a guest gets of a head and of a body.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::support::{Gateway, Guest, Server, config, ok, policy};
use crate::policy::RunPolicy;
use crate::policy::rules::NetworkRules;
use crate::policy::target::RequestTarget;
use crate::rewrite::{RequestRewriter, ResponseFilter};
use wardian_vocabulary::ids::TenantId;

const NAME: &str = "site.test";

/// Writes `-` over each `s`, and holds each piece back until the next one comes.
#[derive(Debug, Default)]
struct Dashes {
    held: Vec<u8>,
}

fn dashed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| if *byte == b's' { b'-' } else { *byte }).collect()
}

impl ResponseFilter for Dashes {
    fn header(&self, value: &[u8]) -> Option<Vec<u8>> {
        value.contains(&b's').then(|| dashed(value))
    }

    fn body(&mut self, piece: &[u8]) -> Vec<u8> {
        dashed(&std::mem::replace(&mut self.held, piece.to_vec()))
    }

    fn end(&mut self) -> Vec<u8> {
        dashed(&std::mem::take(&mut self.held))
    }
}

#[derive(Debug)]
struct Dashing;

impl RequestRewriter for Dashing {
    fn rewrite_header(&self, _: &RequestTarget, _: &str, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn response_filter(&self, target: &RequestTarget) -> Option<Box<dyn ResponseFilter>> {
        let is_seen = target.path.path() != "/unseen";
        is_seen.then(|| Box::<Dashes>::default() as Box<dyn ResponseFilter>)
    }
}

#[tokio::test]
async fn a_filter_sees_everything_of_a_response() {
    let answer = |head: &str| {
        match head.split(' ').nth(1).unwrap() {
        "/head" => b"HTTP/1.1 200 secrets\r\nx-secret: 1\r\nx-a: secret\r\nContent-Length: 0\r\n\r\n"
            .to_vec(),
        "/chunks" => b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsese\r\n3\r\nsos\r\n0\r\n\r\n"
            .to_vec(),
        _ => ok("sos"),
    }
    };
    let server = Server::answering(None, answer).await;
    let host = format!("{NAME}:{}", server.port);
    let gateway = Gateway::new(config());
    let rules = policy(&[&format!("http://{host}")]).rewritten_by(Arc::new(Dashing));
    let network = gateway.egress.open(&TenantId::local(), rules);
    let mut answers = Vec::new();
    for path in ["/head", "/chunks", "/whole", "/unseen"] {
        let guest = Guest::connect(&network, NAME, server.port).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: gzip\r\nRange: bytes=1-2\r\n\
             If-Range: \"x\"\r\nConnection: close\r\n\r\n"
        );
        guest.send(request.as_bytes()).await.unwrap();
        answers.push(guest.rest().await.0);
    }
    let [head, chunks, whole, unseen] = answers.try_into().unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "no text beside the status: {head}");
    assert!(head.contains("x-a: -ecret\r\n") && !head.contains("x-secret"), "{head}");
    assert!(chunks.contains("-e-e") && chunks.contains("-o-"), "{chunks}");
    assert!(
        whole.ends_with("-o-") && whole.to_lowercase().contains("content-length: 3"),
        "{whole}"
    );
    assert!(unseen.ends_with("sos"), "{unseen}");
    let heads = server.heads.lock().clone();
    for (at, encoding) in [(0, "identity"), (2, "identity"), (3, "gzip")] {
        let head = heads[at].to_lowercase();
        assert!(head.contains(&format!("accept-encoding: {encoding}\r\n")), "{head}");
        // A part of a response could show a part of a value.
        let asks_for_part = head.contains("\r\nrange:") || head.contains("\r\nif-range:");
        assert_eq!(asks_for_part, encoding == "gzip", "{head}");
    }
}

#[tokio::test]
async fn one_body_of_a_run_is_rewritten_at_a_time() {
    let rules = NetworkRules::new(RunPolicy::of_manifest(Vec::new()), Arc::from([]), true);
    let first = rules.begin_rewriting().await;
    assert!(first.is_some());
    let brief = Duration::from_millis(50);
    assert!(timeout(brief, rules.begin_rewriting()).await.is_err());
    drop(first);
    assert!(rules.begin_rewriting().await.is_some());
}
