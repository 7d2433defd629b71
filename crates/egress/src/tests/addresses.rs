//! Names and addresses: what resolves to private addresses is never reached.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::config::{EgressConfig, ProxyAddress};
use crate::error::errno;
use crate::network::StreamReadiness;
use crate::tests::support::{Gateway, Guest, Server, config, ok, policy, read_head};
use crate::world::resolver::{Resolver as _, SystemResolver};
use wardian_formats::skill::manifest::url_pattern::UrlPattern;
use wardian_vocabulary::ids::TenantId;

const NAME: &str = "api.example.com";

fn pattern(port: u16) -> String {
    format!("http://{NAME}:{port}")
}

#[tokio::test]
async fn a_checked_address_is_the_one_that_is_connected_to() {
    let trap = Server::answering(None, |_| ok("trapped")).await;
    // Nothing is private here but loopback, and loopback is not allowed.
    let gateway = Gateway::new(EgressConfig::default());
    let private: [&[&[&str]]; 6] = [
        &[&["127.0.0.1"]],
        &[&["::1"]],
        &[&["::ffff:127.0.0.1"]],
        &[&["93.184.216.34", "127.0.0.1"]],
        &[&["2606:4700::1111", "10.0.0.1"]],
        &[&["64:ff9b::7f00:1"]],
    ];
    for answers in private {
        gateway.names.set(NAME, answers);
        let network = gateway.open(&[&pattern(trap.port)]);
        let refused = Guest::connect(&network, NAME, trap.port).await.err().unwrap();
        assert_eq!(refused.errno(), errno::EACCES, "{answers:?}");
        assert_eq!(network.summary().refusals, 1);
        assert_eq!(network.resolve(NAME).await.unwrap_err().errno(), errno::EACCES);
    }
    assert_eq!(*trap.accepted.lock(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_mind_does_not_lead_to_loopback() {
    let trap = Server::answering(None, |_| ok("trapped")).await;
    let gateway = Gateway::new(EgressConfig {
        limits: crate::config::NetworkLimits {
            connect_timeout: Duration::from_millis(50),
            ..Default::default()
        },
        ..EgressConfig::default()
    });
    for round in 0..50 {
        // An address for documentation is refused, a public one is not reached from here: either
        // way the second answer must never be asked for by what connects.
        gateway.names.set(NAME, &[&["192.0.2.1"], &["127.0.0.1"]]);
        let network = gateway.open(&[&pattern(trap.port)]);
        for _ in 0..3 {
            assert!(Guest::connect(&network, NAME, trap.port).await.is_err(), "round {round}");
        }
    }
    assert_eq!(*trap.accepted.lock(), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_once_for_all_that_a_run_does() {
    let server = Server::answering(None, |_| ok("x")).await;
    let gateway = Gateway::new(config());
    gateway.names.set(NAME, &[&["127.0.0.1"], &["10.0.0.1"]]);
    let network = gateway.open(&[&pattern(server.port)]);
    assert!(network.resolve(NAME).await.unwrap());
    for _ in 0..3 {
        let (answer, end) = Guest::connect(&network, NAME, server.port)
            .await
            .unwrap()
            .get(&format!("{NAME}:{}", server.port), "/")
            .await;
        assert!(answer.ends_with('x') && end.is_ok(), "{answer} {end:?}");
    }
    assert_eq!(gateway.names.asked.lock().len(), 1);
}

#[tokio::test]
async fn names_that_no_pattern_names_are_not_looked_up() {
    let gateway = Gateway::new(config());
    let network = gateway.open(&["https://*.example.com"]);
    for name in [
        "deadbeef.notallowed.com",
        "example.com",
        "localhost",
        "127.0.0.1",
        "[::1]",
        "",
        "a.example.com.",
        "a.example.com\0",
    ] {
        assert_eq!(network.resolve(name).await.unwrap_err().errno(), errno::EACCES, "{name:?}");
        assert_eq!(network.start(name, 443).unwrap_err().errno(), errno::EACCES, "{name:?}");
    }
    assert!(gateway.names.asked.lock().is_empty());
    assert!(network.resolve("a.example.com").await.unwrap());
    gateway.names.set("gone.example.com", &[&[]]);
    assert!(!network.resolve("gone.example.com").await.unwrap());
    let summary = network.summary();
    assert_eq!((summary.refusals, summary.connections), (16, 0));
    assert!(summary.hosts.iter().any(|host| host.host == "deadbeef.notallowed.com"));
}

#[tokio::test]
async fn refusals_tell_nothing_of_ports() {
    let open = Server::answering(None, |_| ok("x")).await;
    let closed = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap().port()
    };
    let gateway = Gateway::new(EgressConfig::default());
    let network = gateway.open(&[&pattern(open.port), &pattern(closed)]);
    for host in ["127.0.0.1", "169.254.169.254", "localhost", "[::1]", "0x7f.1", "/run/x.sock"] {
        let started = Instant::now();
        let refusals = [open.port, closed].map(|port| {
            network.start(host, port).unwrap_err().text().replace(&port.to_string(), "PORT")
        });
        assert_eq!(refusals[0], refusals[1], "{host}");
        assert!(started.elapsed() < Duration::from_millis(50));
    }
    let mut refusals = Vec::new();
    for port in [open.port, closed] {
        refusals.push(Guest::connect(&network, NAME, port).await.err().unwrap());
    }
    assert_eq!(refusals[0], refusals[1]);
    assert_eq!(*open.accepted.lock(), 0);
}

#[tokio::test]
async fn refused_and_unknown_destinations_fail_as_natively() {
    let gateway = Gateway::new(config());
    let closed =
        tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let network = gateway.open(&[&pattern(closed), "https://gone.example.com"]);
    let refused = Guest::connect(&network, NAME, closed).await.err().unwrap();
    assert_eq!(refused.errno(), errno::ECONNREFUSED);
    gateway.names.set("gone.example.com", &[&[]]);
    let gone = Guest::connect(&network, "gone.example.com", 443).await.err().unwrap();
    assert_eq!(gone.errno(), errno::EHOSTUNREACH);
}

#[tokio::test]
async fn a_proxy_gets_names_that_passed_the_rules_and_looks_them_up() {
    let proxy = Server::start(None, |mut stream, heads| {
        Box::pin(async move {
            let head = read_head(&mut stream).await.unwrap();
            let refuses = head.contains("closed.");
            heads.lock().push(head);
            if refuses {
                stream.write_all(b"HTTP/1.1 403 No\r\n\r\n").await.unwrap();
                return;
            }
            stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
            let head = read_head(&mut stream).await.unwrap();
            heads.lock().push(head);
            stream.write_all(&ok("through")).await.unwrap();
        })
    })
    .await;
    let text = format!("http://me:secret@127.0.0.1:{}", proxy.port);
    let gateway = Gateway::new(EgressConfig {
        proxy: Some(ProxyAddress::parse(&text).unwrap()),
        denied: vec![UrlPattern::parse("http://denied.example.com").unwrap()],
        ..EgressConfig::default()
    });
    let network = gateway.open(&["http://*.example.com"]);
    let (answer, end) = Guest::connect(&network, NAME, 80).await.unwrap().get(NAME, "/x").await;
    assert!(answer.ends_with("through") && end.is_ok(), "{answer} {end:?}");
    let heads = proxy.heads.lock().clone();
    assert!(heads[0].starts_with("CONNECT api.example.com:80 HTTP/1.1\r\nHost: api.example.com:80\r\nProxy-Authorization: Basic "), "{heads:?}");
    assert!(heads[1].starts_with("GET /x HTTP/1.1\r\n") && !heads[1].contains("roxy"), "{heads:?}");
    let refused = Guest::connect(&network, "closed.example.com", 80).await.err().unwrap();
    assert!(refused.text().contains("403") && !refused.text().contains("secret"), "{refused}");
    assert_eq!(network.start("denied.example.com", 80).unwrap_err().errno(), errno::EACCES);
    // Only the proxy itself was looked up.
    assert_eq!(*gateway.names.asked.lock(), ["127.0.0.1", "127.0.0.1"]);
}

#[tokio::test]
async fn connections_end_with_their_run() {
    let hanging = Server::start(None, |mut stream, heads| {
        Box::pin(async move {
            drop(read_head(&mut stream).await);
            let mut rest = Vec::new();
            drop(stream.read_to_end(&mut rest).await);
            heads.lock().push("ended".to_owned());
        })
    })
    .await;
    let gateway = Gateway::new(config());
    let network = gateway.egress.open(&TenantId::local(), policy(&[&pattern(hanging.port)]));
    let guest = Guest::connect(&network, NAME, hanging.port).await.unwrap();
    guest
        .send(format!("GET / HTTP/1.1\r\nHost: {NAME}:{}\r\n\r\n", hanging.port).as_bytes())
        .await
        .unwrap();
    let handle = guest.handle;
    let waited =
        network.poll(&[(handle, StreamReadiness::READ)], Some(Duration::from_millis(100))).await;
    assert_eq!(waited.unwrap(), []);
    assert!(hanging.heads.lock().is_empty());
    drop(network);
    for _ in 0..500 {
        if !hanging.heads.lock().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server still waits for a run that is gone");
}

#[tokio::test]
async fn the_system_resolves_names() {
    let found = SystemResolver::default().lookup(&TenantId::local(), "localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    assert!(
        SystemResolver::default().lookup(&TenantId::local(), "no-such-name.invalid").await.is_err()
    );
}
