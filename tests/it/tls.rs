//! TLS on the server's own address: handshakes, slow clients, new certificates, wrong files.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{ClientConfig, RootCertStore};

use crate::support::{
    Command, Connection, Facts, Reply, TestServer, contained, eventually, make_pipe, repository,
};

const HEADERS: &str = "Host: localhost\r\nContent-Type: application/json\r\n";
const GUIDE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"load_skills_protocol_guide"}"#;
const PATIENCE: Duration = Duration::from_secs(60);

/// A certificate for `localhost` and its key.
struct Identity {
    certificate: String,
    key: String,
    der: Vec<u8>,
}

impl Identity {
    fn new() -> Self {
        Self::until(2100)
    }

    fn until(year: i32) -> Self {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let der = certificate.der().to_vec();
        Self { certificate: certificate.pem(), key: key.serialize_pem(), der }
    }

    /// Writes the files as renewal programs do: beside the old ones, then in their place.
    fn write(&self, folder: &Path) -> Files {
        let files = Files { certificate: folder.join("tls.crt"), key: folder.join("tls.key") };
        for (path, text) in [(&files.certificate, &self.certificate), (&files.key, &self.key)] {
            let draft = path.with_extension("draft");
            fs::write(&draft, text).unwrap();
            fs::rename(&draft, path).unwrap();
        }
        files
    }
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn settings(&self) -> [String; 4] {
        let set = |key: &str, path: &Path| format!("{key}={}", path.display());
        [
            "--set".to_owned(),
            set("http.tls.certificate", &self.certificate),
            "--set".to_owned(),
            set("http.tls.key", &self.key),
        ]
    }

    fn start(&self, more: &[&str]) -> TestServer {
        let settings = self.settings();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        TestServer::start(&[&settings[..], more].concat())
    }
}

/// A client that trusts these certificates and offers these protocols.
fn client(trusted: &[&Identity], protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for identity in trusted {
        roots.add(identity.der.clone().into()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

fn connect(server: &TestServer, client: &Arc<ClientConfig>) -> io::Result<(Connection, Facts)> {
    Connection::encrypted(&server.address, Arc::clone(client))
}

fn assert_served(connection: &mut Connection) -> Reply {
    let reply = connection.post(HEADERS, GUIDE);
    assert_eq!(reply.status, 200, "{reply:?}");
    assert!(reply.json()["result"]["content"].is_string());
    reply
}

#[test]
fn calls_are_served_over_tls_and_the_protocol_is_agreed_upon() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let server = identity.write(folder.path()).start(&[]);
    assert!(server.log().contains(" listening on https://127.0.0.1:"), "{}", server.log());
    for (offered, agreed) in [
        (&[][..], None),
        (&["http/1.1"][..], Some("http/1.1")),
        (&["h2", "http/1.1"][..], Some("http/1.1")),
    ] {
        let (mut connection, facts) = connect(&server, &client(&[&identity], offered)).unwrap();
        assert_eq!(facts.protocol.as_deref(), agreed, "{offered:?}");
        for _ in 0..3 {
            assert_served(&mut connection);
        }
    }
    // HTTP/2 is not spoken, and a client that speaks nothing else hears so at once.
    let refused = connect(&server, &client(&[&identity], &["h2"])).unwrap_err();
    assert!(refused.to_string().contains("NoApplicationProtocol"), "{refused}");
    // A client without TLS gets nothing, and others are served.
    let mut plain = server.connect();
    plain.send(format!("GET /healthz HTTP/1.1\r\n{HEADERS}\r\n"));
    assert!(!String::from_utf8_lossy(&plain.rest()).contains("HTTP/1.1"));
    assert_served(&mut connect(&server, &client(&[&identity], &[])).unwrap().0);
}

/// True if a container with a server at this address is healthy, by the command of the Dockerfile.
fn is_healthy(address: &str) -> bool {
    let text = fs::read_to_string(repository("deploy/Dockerfile")).unwrap().replace("\\\n", "");
    let line = text.lines().find(|line| line.starts_with("HEALTHCHECK ")).unwrap();
    let (_, command) = line.split_once(" CMD ").unwrap();
    let command: Vec<String> = serde_json::from_str(command).unwrap();
    let mut process = std::process::Command::new(&command[0]);
    process.args(&command[1..]).env("WARDIAN_LISTEN", address);
    process.output().unwrap().status.success()
}

#[test]
fn a_container_is_healthy_with_tls_and_without_while_its_server_lives() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let encrypted = identity.write(folder.path()).start(&[]);
    let plain = TestServer::start(&[]);
    for server in [&encrypted, &plain] {
        assert!(is_healthy(&server.address), "{}", server.log());
    }
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert!(!is_healthy(&gone.to_string()), "nothing listens there");
    // Something else listens there.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = other.accept().unwrap();
        io::Write::write_all(&mut stream, b"HTTP/1.0 500 Internal Server Error\r\n\r\n").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        io::copy(&mut stream, &mut io::sink()).ok();
    });
    assert!(!is_healthy(&address), "it answers with an error");
    answering.join().unwrap();
}

#[test]
fn the_checks_of_requests_hold_over_tls() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let server = identity.write(folder.path()).start(&[]);
    let client = client(&[&identity], &[]);
    let length = GUIDE.len();
    for request in [
        format!("POST /rpc HTTP/1.1\n{HEADERS}Content-Length: {length}\r\n\r\n{GUIDE}"),
        format!(
            "POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: {length}\r\n\
             Transfer-Encoding: chunked\r\n\r\n{GUIDE}"
        ),
        format!("POST /rpc HTTP/1.1\r\n{HEADERS}X : y\r\nContent-Length: {length}\r\n\r\n{GUIDE}"),
    ] {
        let (mut connection, _) = connect(&server, &client).unwrap();
        connection.try_send(format!("{request}{request}")).ok();
        assert_eq!(connection.reply().status, 400, "{request:?}");
        assert_eq!(connection.rest(), b"", "{request:?}");
    }
    let (mut foreign, _) = connect(&server, &client).unwrap();
    let reply = foreign.post("Host: evil.example\r\nContent-Type: application/json\r\n", GUIDE);
    assert_eq!(reply.status, 403);
}

#[test]
fn bounded_handshake_and_requests_of_slow_clients() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let server = identity.write(folder.path()).start(&[
        "--set",
        "http.tls.handshake_timeout=300 ms",
        "--set",
        "http.header_timeout=300 ms",
        "--set",
        "http.body_timeout=300 ms",
        "--set",
        "http.idle_timeout=300 ms",
    ]);
    let (mut silent, mut half) = (server.connect(), server.connect());
    half.send([0x16, 3, 1, 2, 0, 1]);
    let start = Instant::now();
    assert_eq!((silent.rest(), half.rest()), (vec![], vec![]));
    // The default is 10 s.
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());

    let client = client(&[&identity], &[]);
    let (mut in_headers, _) = connect(&server, &client).unwrap();
    in_headers.send("POST /rpc HTTP/1.1\r\nHost: loc");
    assert_eq!(in_headers.rest(), b"");
    let (mut in_body, _) = connect(&server, &client).unwrap();
    in_body.send(format!("POST /rpc HTTP/1.1\r\n{HEADERS}Content-Length: 10\r\n\r\n{{"));
    assert_eq!(in_body.reply().status, 408);
    let (mut idle, _) = connect(&server, &client).unwrap();
    assert_served(&mut idle);
    assert_eq!(idle.rest(), b"");
}

/// Handshakes count as connections that wait for their clients.
#[test]
fn clients_that_do_not_shake_hands_keep_nobody_out() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let server = identity.write(folder.path()).start(&["--set", "http.max_connections=3"]);
    let silent: Vec<TcpStream> =
        (0..10).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    let start = Instant::now();
    assert_served(&mut connect(&server, &client(&[&identity], &[])).unwrap().0);
    assert!(start.elapsed() < Duration::from_secs(9), "it waited for the time-out");
    drop(silent);
}

#[test]
fn a_stopping_server_does_not_wait_for_handshakes() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::new());
    let server = identity.write(folder.path()).start(&["--set", "http.tls.handshake_timeout=60 s"]);
    let _silent = TcpStream::connect(&server.address).unwrap();
    let (mut idle, _) = connect(&server, &client(&[&identity], &[])).unwrap();
    assert_served(&mut idle);
    let start = Instant::now();
    server.process().terminate();
    assert_eq!(server.wait().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(25), "{:?}", start.elapsed());
    assert_eq!(idle.rest(), b"");
}

#[test]
fn a_new_certificate_is_taken_without_losing_connections() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second, third) = (Identity::new(), Identity::new(), Identity::new());
    let files = first.write(folder.path());
    let server = files.start(&[]);
    let client = client(&[&first, &second, &third], &[]);
    let (mut before, facts) = connect(&server, &client).unwrap();
    assert_eq!(facts.certificate, first.der);
    assert_served(&mut before);

    second.write(folder.path());
    let shown = || connect(&server, &client).unwrap().1.certificate;
    eventually(PATIENCE, || (shown() == second.der).then_some(()));
    assert_served(&mut before);

    // Half of a certificate, the key of another one, and nothing at all.
    fs::write(&files.certificate, &third.certificate[..200]).unwrap();
    server.wait_for_log("ERROR the TLS certificate is kept, because the new one is invalid: ");
    fs::write(&files.certificate, &third.certificate).unwrap();
    server.wait_for_log("does not belong to the first certificate");
    fs::remove_file(&files.key).unwrap();
    server.wait_for_log("tls.key` cannot be read: No such file");
    assert_eq!(shown(), second.der);
    assert_served(&mut before);

    third.write(folder.path());
    server.process().hang_up();
    eventually(PATIENCE, || (shown() == third.der).then_some(()));
    assert_served(&mut before);
}

#[test]
fn kept_configuration_as_a_whole_when_it_names_a_certificate_that_cannot_be_used() {
    let place = Command::new();
    let (first, second) = (Identity::new(), Identity::new());
    let files = first.write(place.folder());
    let text = |certificate: &Path, key: &Path, more: &str| {
        let (certificate, key) = (certificate.display(), key.display());
        format!("[http]\n{more}\n[http.tls]\ncertificate = \"{certificate}\"\nkey = \"{key}\"\n")
    };
    let config = place.file("wardian.toml", text(&files.certificate, &files.key, ""));
    let server = TestServer::start(&["--config", config.to_str().unwrap()]);
    let client = client(&[&first, &second], &[]);
    let shown = || connect(&server, &client).unwrap().1.certificate;
    let replace = |text: String| {
        let draft = place.file("draft", text);
        fs::rename(draft, &config).unwrap();
    };
    let gone = place.folder().join("gone.crt");
    let faster = "idle_timeout = \"200 ms\"";
    replace(text(&gone, &files.key, faster));
    let line = server.wait_for_log("gone.crt` cannot be read");
    assert!(line.contains("WARN the configuration is kept: "), "{line}");
    let other = place.file("other/tls.key", &second.key);
    replace(text(&files.certificate, &other, faster));
    server.wait_for_log("does not belong to the first certificate");
    server.process().hang_up();
    let told = || server.log().matches("does not belong to the first certificate").count();
    eventually(PATIENCE, || (told() == 2).then_some(()));
    // The old files are still followed, and nothing of the new file applies.
    second.write(place.folder());
    eventually(PATIENCE, || (shown() == second.der).then_some(()));
    let (mut idle, _) = connect(&server, &client).unwrap();
    assert_served(&mut idle);
    assert!(!idle.ends_within(Duration::from_secs(3)), "the time-out applies");
    assert!(!server.log().contains("`http.idle_timeout` is"), "{}", server.log());
    let good = first.write(&place.folder().join("other"));
    replace(text(&good.certificate, &good.key, faster));
    server.wait_for_log("`http.idle_timeout` is now \"200 ms\"");
    eventually(PATIENCE, || (shown() == first.der).then_some(()));
}

#[test]
fn files_that_make_no_certificate_are_refused_in_one_line_and_nothing_is_changed() {
    let place = Command::new();
    let (identity, other) = (Identity::new(), Identity::new());
    let files = identity.write(place.folder());
    place.file("other.key", &other.key);
    place.file("empty.pem", "");
    place.file("text.pem", "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n");
    let encrypted = identity.key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    place.file("encrypted.key", encrypted);
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    place.file("zeros.pem", no_certificate);
    make_pipe(&place.folder().join("pipe"));
    let (good, key) = (files.certificate.to_str().unwrap(), files.key.to_str().unwrap());
    for (certificate, key, says) in [
        (Some(good), None, "`http.tls.certificate` is set and `http.tls.key` is not"),
        (None, Some(key), "`http.tls.key` is set and `http.tls.certificate` is not"),
        (Some("gone.pem"), Some(key), "gone.pem` cannot be read: No such file"),
        (Some(good), Some("gone.key"), "gone.key` cannot be read: No such file"),
        (Some("empty.pem"), Some(key), "empty.pem` has no certificate"),
        (Some(key), Some(key), "tls.key` has no certificate"),
        (Some("text.pem"), Some(key), "text.pem` is not PEM"),
        (Some("zeros.pem"), Some(key), "zeros.pem` cannot be used"),
        (Some(good), Some("empty.pem"), "empty.pem` has no unencrypted private key"),
        (Some(good), Some("encrypted.key"), "has no unencrypted private key"),
        (Some(good), Some("other.key"), "other.key` does not belong to the first certificate"),
        (Some("."), Some(key), "cannot be read: it is not a regular file"),
        (Some("/dev/zero"), Some(key), "it is not a regular file"),
        (Some("pipe"), Some(key), "pipe` cannot be read: it is not a regular file"),
        (Some(good), Some("pipe"), "pipe` cannot be read: it is not a regular file"),
    ] {
        let setting = |key: &str, path: Option<&str>| {
            path.map(|path| ["--set".to_owned(), format!("{key}={path}")])
        };
        let settings = [setting("http.tls.certificate", certificate), setting("http.tls.key", key)];
        let settings: Vec<String> = settings.into_iter().flatten().flatten().collect();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], &settings[..]].concat();
        let ended = place.run(&arguments).with(2);
        assert!(contained(&ended.stderr, [says]).is_empty(), "{settings:?}: {}", ended.stderr);
        let lines =
            ended.stderr.lines().filter(|line| *line != "error: the configuration is wrong:");
        assert_eq!(lines.count(), 1, "{settings:?}: {}", ended.stderr);
        assert!(!place.folder().join("data").try_exists().unwrap(), "{settings:?}");
    }
}

#[test]
fn an_expired_certificate_is_told_at_the_start() {
    let (folder, identity) = (tempfile::tempdir().unwrap(), Identity::until(2020));
    let server = identity.write(folder.path()).start(&[]);
    let line = server.wait_for_log("WARN the TLS certificate expired ");
    assert!(line.ends_with("days ago: clients refuse it"), "{line}");
    let refused = connect(&server, &client(&[&identity], &[])).unwrap_err();
    assert!(refused.to_string().contains("xpired"), "{refused}");
}

#[test]
fn the_doctor_looks_at_the_certificate() {
    for (identity, key, finding) in [
        (Identity::new(), None, "good      certificate    it fits its key and is valid"),
        (Identity::until(2020), None, "degraded  certificate    the TLS certificate expired "),
        (Identity::new(), Some(Identity::new().key), "bad       certificate    the key in "),
    ] {
        let place = Command::new();
        let files = identity.write(place.folder());
        if let Some(other) = key {
            fs::write(&files.key, other).unwrap();
        }
        let settings = files.settings();
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        // Without an engine nothing else takes long.
        let cache = place.folder().join("cache");
        let cache = ["--cache-dir", cache.to_str().unwrap()];
        let ended = place.run(&[&["doctor"], &settings[..], &cache[..]].concat());
        assert!(ended.stdout.contains(finding), "{}", ended.stdout);
    }
}
