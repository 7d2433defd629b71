//! What a guest says to the network: URLs, and the bytes of a stream, cut into pieces.
//!
//! The first byte is the size of the pieces, the rest a URL and a stream. Beyond "no panic": a URL
//! that is granted is at or below the host and path that the pattern names; a stream makes the
//! gateway send nothing but whole requests to the granted host and path; the stream ends.

#![no_main]

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use wardian_egress::Egress;
use wardian_egress::config::{EgressConfig, NetworkLimits};
use wardian_egress::guest::hello::Hello;
use wardian_egress::guest::pipe::StreamRead;
use wardian_egress::network::{ClosedPart, StreamReadiness};
use wardian_egress::policy::RunPolicy;
use wardian_egress::policy::rules::NetworkRules;
use wardian_egress::world::resolver::{Lookup, Resolver};
use wardian_vocabulary::ids::TenantId;
use wardian_formats::skill::manifest::url_pattern::UrlPattern;

const NAME: &str = "api.example.com";
const WAIT: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Loopback;

impl Resolver for Loopback {
    fn lookup<'a>(&'a self, _: &'a TenantId, _: &'a str) -> Lookup<'a> {
        Box::pin(async { Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

struct World {
    runtime: Runtime,
    egress: Egress,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limits = NetworkLimits {
        request_timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_secs(1),
        ..NetworkLimits::default()
    };
    let private_ranges = vec!["127.0.0.1/32".parse().unwrap()];
    let config = EgressConfig { private_ranges, limits, ..EgressConfig::default() };
    let egress = Egress::new(config, Arc::new(Loopback)).unwrap();
    World { runtime, egress }
});

fuzz_target!(|input: &[u8]| {
    let Some((size, rest)) = input.split_first() else { return };
    drop(Hello::parse(rest));
    let network = WORLD.egress.open(&TenantId::local(), policy(&format!("https://{NAME}/v1/*")));
    check_url(network.rules(), &String::from_utf8_lossy(rest));
    check_stream(usize::from(*size).max(1), rest);
});

fn policy(pattern: &str) -> RunPolicy {
    RunPolicy::of_manifest(vec![UrlPattern::parse(pattern).unwrap()])
}

fn check_url(rules: &NetworkRules, url: &str) {
    let Ok(target) = rules.check_url(url) else { return };
    assert_eq!((target.destination.host.as_str(), target.destination.port), (NAME, 443), "{url:?}");
    assert!(target.path.path().starts_with("/v1/"), "{url:?}");
    assert!(
        !target.path.path().contains("/../") && !target.path.path().ends_with("/.."),
        "{url:?}"
    );
}

/// Answers everything that looks like the end of a request, and gives what arrived.
async fn serve(listener: TcpListener) -> Vec<u8> {
    let mut arrived = Vec::new();
    let Ok((mut stream, _)) = listener.accept().await else { return arrived };
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut piece).await {
        arrived.extend(&piece[..count]);
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        if arrived.ends_with(b"\r\n\r\n") && stream.write_all(answer).await.is_err() {
            break;
        }
    }
    arrived
}

fn check_stream(size: usize, bytes: &[u8]) {
    let world = &*WORLD;
    let (port, arrived) = world.runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(serve(listener));
        let network =
            world.egress.open(&TenantId::local(), policy(&format!("http://{NAME}:{port}/v1/*")));
        let handle = network.start(NAME, port).unwrap();
        network.poll(&[(handle, StreamReadiness::WRITE)], Some(WAIT)).await.unwrap();
        for piece in bytes.chunks(size) {
            if !matches!(network.write(handle, piece), Ok(count) if count == piece.len()) {
                break;
            }
            tokio::task::yield_now().await;
        }
        network.close(handle, ClosedPart::Writing).unwrap();
        loop {
            match network.read(handle, 1 << 16, Some(WAIT)).await {
                Ok(StreamRead::Bytes(_)) => {}
                Ok(StreamRead::Nothing) => panic!("the stream does not end"),
                Ok(StreamRead::End) | Err(_) => break,
            }
        }
        let both = [(handle, StreamReadiness::BOTH)];
        assert_eq!(network.poll(&both, Some(WAIT)).await.unwrap().len(), 1);
        drop(network);
        (port, timeout(WAIT, server).await.expect("the connection stays open").unwrap())
    });
    if arrived.is_empty() {
        return;
    }
    let head = String::from_utf8_lossy(&arrived).into_owned();
    let line = head.split("\r\n").next().unwrap();
    assert!(line.ends_with(" HTTP/1.1") && line.split(' ').count() == 3, "{line:?}");
    let path = line.split(' ').nth(1).unwrap().split('?').next().unwrap();
    assert!(path.starts_with("/v1/") && !path.contains("/.."), "{line:?}");
    let host = format!("\r\nhost: {NAME}:{port}\r\n");
    assert!(head.to_lowercase().contains(&host), "{head:?}");
}
