//! The network of guests, from a program in the sandbox to servers on loopback.
//!
//! No name of the tests can be looked up, and no address of loopback can be granted by one. So the
//! server gets an operator's proxy, as in many companies, which leads every name to loopback.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use crate::support::{SkillFolder, TestServer, failed, output};

/// The flags of a server whose requests go through a proxy that leads every name to loopback.
pub(crate) fn through_proxy() -> [&'static str; 4] {
    static SETTING: OnceLock<String> = OnceLock::new();
    let setting = SETTING.get_or_init(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream.unwrap();
                thread::spawn(move || tunnel(stream));
            }
        });
        format!("network.proxy=http://127.0.0.1:{port}")
    });
    ["--set", setting.as_str(), "--set", "images.on_need=false"]
}

/// Answers `CONNECT` and joins the two connections.
fn tunnel(mut stream: TcpStream) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let target = head.strip_prefix("CONNECT ").unwrap().split(' ').next().unwrap();
    let port: u16 = target.rsplit(':').next().unwrap().parse().unwrap();
    let Ok(site) = TcpStream::connect(("127.0.0.1", port)) else {
        stream.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").ok();
        return;
    };
    if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_err() {
        return;
    }
    let (mut from, mut to) = (stream.try_clone().unwrap(), site.try_clone().unwrap());
    thread::spawn(move || {
        std::io::copy(&mut from, &mut to).ok();
        to.shutdown(Shutdown::Write).ok();
    });
    let (mut from, mut to) = (site, stream);
    std::io::copy(&mut from, &mut to).ok();
    to.shutdown(Shutdown::Write).ok();
}

/// A server of the world: plain HTTP/1.1, one thread for each connection.
pub(crate) struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) fn start() -> Self {
        Self::serving(None)
    }

    pub(crate) fn encrypted(authority: &Authority) -> Self {
        Self::serving(Some(authority.server("site.test")))
    }

    fn serving(tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen, tls) = (stream.unwrap(), Arc::clone(&seen), tls.clone());
                thread::spawn(move || match tls {
                    None => converse(&stream, &stream, &seen),
                    Some(tls) => {
                        let session = rustls::ServerConnection::new(tls).unwrap();
                        let stream = Mutex::new(rustls::StreamOwned::new(session, stream));
                        converse(&mut Locked(&stream), &mut Locked(&stream), &seen);
                    }
                });
            }
        });
        Self { port, requests }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://site.test:{}{path}", self.port)
    }

    pub(crate) fn secure_url(&self, path: &str) -> String {
        format!("https://site.test:{}{path}", self.port)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Both halves of an encrypted stream.
struct Locked<'a>(&'a Mutex<rustls::StreamOwned<rustls::ServerConnection, TcpStream>>);

impl Read for Locked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().read(buffer)
    }
}

impl Write for Locked<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap().flush()
    }
}

/// Answers requests until the peer hangs up.
fn converse(mut from: impl Read, mut to: impl Write, seen: &Mutex<Vec<String>>) {
    let mut inbox = Vec::new();
    let mut more = |inbox: &mut Vec<u8>| -> bool {
        let mut piece = [0; 4096];
        match from.read(&mut piece) {
            Ok(read) if read > 0 => {
                inbox.extend(&piece[..read]);
                true
            }
            _ => false,
        }
    };
    loop {
        let end = loop {
            if let Some(end) = inbox.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if !more(&mut inbox) {
                return;
            }
        };
        let head = String::from_utf8(inbox[..end].to_vec()).unwrap();
        inbox.drain(..end + 4);
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(':'));
            let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
            found.next().map(|(_, value)| value.trim().to_owned())
        };
        let length = header("content-length").map_or(0, |text| text.parse().unwrap());
        while inbox.len() < length {
            if !more(&mut inbox) {
                return;
            }
        }
        let body: Vec<u8> = inbox.drain(..length).collect();
        let line = head.lines().next().unwrap().to_owned();
        seen.lock().unwrap().push(line.clone());
        if respond(&line, &body, header("user-agent"), &mut to).is_err() {
            return;
        }
    }
}

fn respond(
    line: &str,
    body: &[u8],
    agent: Option<String>,
    to: &mut impl Write,
) -> std::io::Result<()> {
    let target = line.split(' ').nth(1).unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut parts = path.trim_start_matches('/').split('/');
    let (name, argument) = (parts.next().unwrap(), parts.next().unwrap_or_default());
    let fixed = |status: &str, fields: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    match name {
        "hello" => to.write_all(&fixed("200 OK", "Content-Type: text/plain\r\n", b"hello"))?,
        "bytes" => to.write_all(&fixed("200 OK", "", &vec![7; argument.parse().unwrap()]))?,
        "echo" => {
            let text = String::from_utf8_lossy(body);
            let method = line.split(' ').next().unwrap();
            let value = json!({"method": method, "query": query, "body": text, "agent": agent});
            let kind = "Content-Type: application/json\r\n";
            to.write_all(&fixed("200 OK", kind, value.to_string().as_bytes()))?;
        }
        "slow" => {
            pause(Duration::from_millis(argument.parse().unwrap()));
            to.write_all(&fixed("200 OK", "", b"late"))?;
        }
        "redirect" => {
            let location = format!("Location: {}\r\n", query.strip_prefix("to=").unwrap());
            to.write_all(&fixed("302 Found", &location, b""))?;
        }
        "drip" => {
            to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
            loop {
                to.write_all(b"*")?;
                to.flush()?;
                pause(Duration::from_millis(20));
            }
        }
        _ => to.write_all(&fixed("404 Not Found", "", b"this page does not exist"))?,
    }
    to.flush()
}

/// Nothing can end it sooner: the server of a test is slow on purpose.
fn pause(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        thread::park_timeout(left);
    }
}

/// An authority that tests trust.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    pub(crate) fn path(&self) -> &str {
        self.file.path().to_str().unwrap()
    }

    pub(crate) fn server(&self, name: &str) -> Arc<rustls::ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        Arc::new(config.unwrap())
    }
}

/// Writes a skill that may reach what `patterns` name.
pub(crate) fn granted(skills: &SkillFolder, name: &str, patterns: &[String], source: &str) {
    skills.action(name, "1.0.0", source);
    let manifest = std::fs::read_to_string(skills.at(&format!("{name}/skill.toml"))).unwrap();
    let patterns: Vec<String> = patterns.iter().map(|pattern| format!("{pattern:?}")).collect();
    let permissions = format!("\n[permissions]\nnetwork = [{}]\n", patterns.join(", "));
    skills.file(&format!("{name}/skill.toml"), manifest + &permissions);
}

/// Runs `source` as a skill that may reach all of `sites`, without encryption.
fn run_skill(sites: &[&Site], source: &str, args: Value) -> Value {
    let skills = SkillFolder::new();
    let patterns: Vec<String> = sites.iter().map(|site| site.url("")).collect();
    granted(&skills, "acme.caller", &patterns, source);
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    server.client().execute("acme.caller", args)
}

#[test]
fn a_skill_reaches_what_its_manifest_names_and_the_log_says_so() {
    let site = Site::start();
    let skills = SkillFolder::new();
    let source = r#"
import http.client, json, urllib.request
from urllib.parse import urlsplit
from runtime import blobs, http as simple

def main(args):
    url = args["url"]
    with urllib.request.urlopen(url + "/hello") as answer:
        first = answer.read().decode()
    request = urllib.request.Request(url + "/echo?a=1", b"body", {"User-Agent": "mine"})
    with urllib.request.urlopen(request) as answer:
        second = json.load(answer)
    link = http.client.HTTPConnection("site.test", urlsplit(url).port)
    sizes = []
    for _ in range(2):
        link.request("GET", "/bytes/300000")
        sizes.append(len(link.getresponse().read()))
    upload = simple.post(url + "/echo", json={"x": 1}).json()["body"]
    stored = simple.get(url + "/bytes/1000", to_blob=True).blob_id
    return [first, second, sizes, upload, len(blobs.read_bytes(stored))]
"#;
    granted(&skills, "acme.caller", &[site.url("")], source);
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let result = server.client().execute("acme.caller", json!({"url": site.url("")}));
    let echoed = json!({"method": "POST", "query": "a=1", "body": "body", "agent": "mine"});
    let expected = json!(["hello", echoed, [300_000, 300_000], "{\"x\":1}", 1_000]);
    assert_eq!(output(&result)["result"], expected);
    assert_eq!(site.requests().len(), 6);
    let line = server.wait_for_log("ended: completed");
    assert!(line.contains("site.test: 6"), "{line}");
}

#[test]
fn ten_requests_at_once_take_as_long_as_the_slowest() {
    let site = Site::start();
    let source = r#"
import asyncio, time

async def fetch(port, wait):
    reader, writer = await asyncio.open_connection("site.test", port)
    writer.write(f"GET /slow/{wait} HTTP/1.1\r\nHost: site.test:{port}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    body = await reader.readexactly(4)
    writer.close()
    return body

async def main(args):
    start = time.monotonic()
    bodies = await asyncio.gather(*(fetch(args["port"], 1000 + n) for n in range(10)))
    assert bodies == [b"late"] * 10
    return {"seconds": time.monotonic() - start, "processor": time.process_time()}
"#;
    let result = run_skill(&[&site], source, json!({"port": site.port}));
    let seconds = output(&result)["seconds"].as_f64().unwrap();
    assert!((1.0..5.0).contains(&seconds), "one after another they take ten seconds: {seconds}");
    let processor = output(&result)["processor"].as_f64().unwrap();
    assert!(processor < seconds - 0.5, "waiting is no work: {processor} of {seconds} s");
}

#[test]
fn a_refused_request_names_the_line_that_the_manifest_needs() {
    let (site, other) = (Site::start(), Site::start());
    let source = r#"
import urllib.request

def main(args):
    reasons = []
    for url in args["urls"]:
        try:
            urllib.request.urlopen(url)
        except OSError as error:
            reasons.append([type(error.reason).__name__, str(error)])
    return reasons
"#;
    let urls = [
        other.url("/hello"),
        "https://example.invalid/x".to_owned(),
        "http://127.0.0.1:1/".to_owned(),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        site.url("/redirect?to=") + &other.url("/hello"),
    ];
    let result = run_skill(&[&site], source, json!({"urls": urls}));
    let reasons: Vec<(String, String)> =
        serde_json::from_value(output(&result)["result"].clone()).unwrap();
    assert_eq!(reasons.len(), urls.len());
    for (class, text) in &reasons {
        assert_eq!(class, "PermissionError", "{text}");
    }
    // Nothing was sent, so nobody knows whether it would have been encrypted.
    let line = format!("network = [\"https://site.test:{}\"]", other.port);
    assert!(reasons[0].1.contains(&line), "{reasons:?}");
    assert!(reasons[1].1.contains("network = [\"https://example.invalid\"]"), "{reasons:?}");
    assert!(reasons[4].1.contains(&line), "a redirect is a request: {reasons:?}");
    assert_eq!(other.requests(), Vec::<String>::new());
    assert_eq!(site.requests().len(), 1);
}

#[test]
fn a_slow_server_cannot_extend_a_run() {
    let site = Site::start();
    let skills = SkillFolder::new();
    let source = "import urllib.request\ndef main(args):\n    \
        return urllib.request.urlopen(args['url']).read().decode()\n";
    granted(&skills, "acme.caller", &[site.url("")], source);
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let client = server.client();
    client.execute("acme.caller", json!({"url": site.url("/hello")}));
    for path in ["/drip", "/slow/60000"] {
        let call = json!({
            "name": "acme.caller", "args": {"url": site.url(path)}, "timeout_ms": 1_500,
        });
        let start = Instant::now();
        let result = client.call("execute_skill", call).unwrap();
        assert_eq!(failed(&result).0, "Timeout", "{path}");
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{path} took {took:?}");
        // The worker goes on with the next run.
        client.execute("acme.caller", json!({"url": site.url("/hello")}));
    }
}

#[test]
fn a_run_that_nobody_waits_for_leaves_its_servers() {
    let site = Site::start();
    let skills = SkillFolder::new();
    let source = "import urllib.request\ndef main(args):\n    \
        return urllib.request.urlopen(args['url']).read().decode()\n";
    granted(&skills, "acme.caller", &[site.url("")], source);
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "execute_skill",
        "params": {"name": "acme.caller", "args": {"url": site.url("/slow/20000")}}});
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let body = call.to_string();
    let head = format!(
        "POST /rpc HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let start = Instant::now();
    while site.requests().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "the request never came");
        pause(Duration::from_millis(5));
    }
    let left = Instant::now();
    stream.shutdown(Shutdown::Both).unwrap();
    drop(stream);
    let line = server.wait_for_log("ended: Cancelled");
    assert!(left.elapsed() < Duration::from_secs(10), "{line}");
    assert!(line.contains("site.test: 1"), "{line}");
    let result = server.client().execute("acme.caller", json!({"url": site.url("/hello")}));
    assert_eq!(output(&result)["result"], "hello");
}

const FETCH: &str = r#"
import urllib.request

def main(args):
    return urllib.request.urlopen(args["url"]).read().decode()
"#;

#[test]
fn own_grant_code_has_no_network_and_none_of_the_skills_that_it_mounts() {
    let site = Site::start();
    let skills = SkillFolder::new();
    granted(&skills, "acme.caller", &[site.url("")], FETCH);
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let client = server.client();
    let args = json!({"url": site.url("/hello")});
    assert_eq!(output(&client.execute("acme.caller", args.clone()))["result"], "hello");
    let borrowed =
        "from skills.acme.caller import main as fetch\ndef main(args): return fetch(args)";
    let mounted = json!({"args": args, "mount_skills": ["acme.caller"]});
    for (code, call) in [(FETCH, json!({"args": args})), (borrowed, mounted)] {
        let result = client.run_with(code, call);
        let (class, message) = failed(&result);
        assert_eq!(class, "URLError");
        assert!(message.contains("there is no network in the sandbox"), "{message}");
        assert!(message.contains("input_blobs"), "{message}");
    }
    assert_eq!(site.requests().len(), 1);
    let line = server.wait_for_log("refused");
    assert!(line.contains("site.test: 0 (refused"), "{line}");
}

#[test]
fn the_operator_grants_hosts_to_code_and_takes_them_from_skills() {
    let site = Site::start();
    let skills = SkillFolder::new();
    granted(&skills, "acme.caller", &[site.url("")], FETCH);
    let code = format!("network.code={}", site.url("/hello"));
    let grant = ["--skills", skills.path(), "--set", &code];
    let server = TestServer::start(&[&through_proxy()[..], &grant].concat());
    let run =
        |path: &str| server.client().run_with(FETCH, json!({"args": {"url": site.url(path)}}));
    assert_eq!(output(&run("/hello"))["result"], "hello");
    let refused = run("/echo");
    let (class, message) = failed(&refused);
    assert_eq!(class, "PermissionError", "a path is granted, not the host: {refused}");
    assert!(message.contains(&site.url("/echo")), "{message}");
    assert_eq!(site.requests(), ["GET /hello HTTP/1.1"]);

    for (denial, reason) in [
        (format!("network.denied={}", site.url("")), "denies"),
        ("network.enabled=false".to_owned(), "grants no network"),
    ] {
        let flags = ["--skills", skills.path(), "--set", &denial];
        let server = TestServer::start(&[&through_proxy()[..], &flags].concat());
        let args = json!({"url": site.url("/hello")});
        let result = server.client().execute("acme.caller", args);
        assert!(failed(&result).1.contains(reason), "{result}");
    }
    assert_eq!(site.requests().len(), 1);
}

#[test]
fn certificates_are_checked_against_the_authorities_of_the_operator() {
    let authority = Authority::new();
    let site = Site::encrypted(&authority);
    let source = r#"
import asyncio, ssl, urllib.request

def attempt(url, context=None):
    try:
        return urllib.request.urlopen(url, context=context).read().decode()
    except OSError as error:
        return type(error.reason).__name__

async def stream(port):
    context = ssl.create_default_context()
    reader, writer = await asyncio.open_connection("site.test", port, ssl=context)
    version = writer.get_extra_info("ssl_object").version()
    writer.write(f"GET /hello HTTP/1.1\r\nHost: site.test:{port}\r\nConnection: close\r\n\r\n".encode())
    data = await reader.read()
    writer.close()
    return [version, data.endswith(b"hello")]

def main(args):
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    own.load_verify_locations(cadata=args["ca"])
    other = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    other.load_verify_locations(cadata=args["other"])
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    unverified = ssl._create_unverified_context()
    url = args["url"]
    found = [attempt(url, context) for context in (None, own, other, empty, unverified)]
    try:
        found.append(asyncio.run(stream(args["port"])))
    except OSError as error:
        found.append(type(error).__name__)
    return found
"#;
    let skills = SkillFolder::new();
    granted(&skills, "acme.caller", &[site.secure_url("")], source);
    let args = json!({
        "url": site.secure_url("/hello"), "port": site.port,
        "ca": authority.pem(), "other": Authority::new().pem(),
    });
    let run = |flags: &[&str]| {
        let server = TestServer::start(
            &[&through_proxy()[..], &["--skills", skills.path()], flags].concat(),
        );
        let result = server.client().execute("acme.caller", args.clone());
        output(&result)["result"].clone()
    };
    let bad = "SSLCertVerificationError";
    let trusted = format!("network.ca_file={}", authority.path());
    let expected = json!(["hello", "hello", bad, bad, "hello", ["TLSv1.3", true]]);
    assert_eq!(run(&["--set", &trusted]), expected);
    assert_eq!(run(&[]), json!([bad, bad, bad, bad, bad, bad]), "no check is turned off");
    let allowed = run(&["--set", "network.allow_unverified=true"]);
    assert_eq!(allowed, json!([bad, bad, bad, bad, "hello", bad]));
}

#[test]
fn a_wrong_setting_of_the_network_is_told_at_the_start() {
    for (setting, expected) in [
        ("network.private_ranges=8.8.8.0/24", "8.8.8.0/24"),
        ("network.code=https://*", "network.code"),
        ("network.proxy=ftp://x", "network.proxy"),
        ("network.ca_file=/nonexistent.pem", "/nonexistent.pem"),
    ] {
        let ended = crate::support::Command::new().run(&["serve", "--set", setting]).with(2);
        assert!(ended.stderr.contains(expected), "{setting}: {}", ended.stderr);
    }
}

/// Packages of the registry, of pure Python, where it can be reached.
fn fetch_packages(folder: &std::path::Path) -> bool {
    let fetched = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:"])
        .args(["--platform", "any", "--implementation", "py", "--abi", "none"])
        .args(["--python-version", "3.15", "--target"])
        .arg(folder)
        .args(["requests", "httpx"])
        .output();
    fetched.is_ok_and(|ended| ended.status.success())
}

#[test]
fn requests_and_httpx_work_unchanged_from_the_folder_of_a_skill() {
    let site = Site::start();
    let skills = SkillFolder::new();
    let source = r#"
import asyncio, time
import httpx, requests

async def fetch_all(url):
    async with httpx.AsyncClient(timeout=30) as client:
        start = time.monotonic()
        answers = await asyncio.gather(*(client.get(url + "/slow/1000") for _ in range(10)))
        return [answer.text for answer in answers], time.monotonic() - start

def main(args):
    url = args["url"]
    with requests.Session() as session:
        first = session.get(url + "/hello").text
        second = session.post(url + "/echo", params={"a": 1}, json={"x": 1}).json()
    try:
        requests.get("https://example.invalid/")
    except requests.exceptions.ConnectionError as error:
        refused = str(error)
    third = httpx.get(url + "/hello").text
    answers, seconds = asyncio.run(fetch_all(url))
    return [first, second["body"], refused, third, answers, seconds]
"#;
    granted(&skills, "acme.caller", &[site.url("")], source);
    if !fetch_packages(&skills.at("acme.caller/code")) {
        eprintln!("requests and httpx were not tried: the registry of packages cannot be reached");
        return;
    }
    let server = TestServer::start(&[&through_proxy()[..], &["--skills", skills.path()]].concat());
    let call = json!({
        "name": "acme.caller", "args": {"url": site.url("")}, "timeout_ms": 120_000,
    });
    let result = server.client().call("execute_skill", call).unwrap();
    let found = &output(&result)["result"];
    assert_eq!((&found[0], &found[1]), (&json!("hello"), &json!("{\"x\": 1}")));
    let refused = found[2].as_str().unwrap();
    assert!(refused.contains("network = [\"https://example.invalid\"]"), "{refused}");
    assert_eq!(found[3], "hello");
    assert_eq!(found[4], json!(vec!["late"; 10]));
    let seconds = found[5].as_f64().unwrap();
    assert!((1.0..5.0).contains(&seconds), "{seconds}");
}
