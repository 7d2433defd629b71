//! Callers with tokens of an identity provider: who is let in, for which tenant, and for how long.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::network::Authority;
use crate::support::{Client, Command, TestServer, eventually, repository};

const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::disallowed_methods, reason = "tokens are of the time that the server reads")]
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

/// Signs tokens as an identity provider does.
struct Signer {
    rsa: RsaKeyPair,
    ecdsa: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new(file: &str) -> Self {
        let pem = fs::read_to_string(repository(&format!("tests/fixtures/jwt/{file}"))).unwrap();
        let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let ecdsa = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            rsa: RsaKeyPair::from_pkcs8(&BASE64.decode(text.as_bytes()).unwrap()).unwrap(),
            ecdsa: EcdsaKeyPair::from_pkcs8(algorithm, ecdsa.as_ref(), &random).unwrap(),
            random,
        }
    }

    /// The set of its public keys: one of RSA by this name, one of ECDSA named `ec`.
    fn keys(&self, kid: &str) -> Vec<Value> {
        let parts = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public());
        let (x, y) = self.ecdsa.public_key().as_ref()[1..].split_at(32);
        vec![
            json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": kid,
                "n": encoded(&parts.n), "e": encoded(&parts.e)}),
            json!({"kty": "EC", "crv": "P-256", "kid": "ec", "x": encoded(x), "y": encoded(y)}),
        ]
    }

    fn set(&self, kid: &str) -> String {
        json!({"keys": self.keys(kid)}).to_string()
    }

    fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        let signature = if header.contains("ES256") {
            self.ecdsa.sign(&self.random, message.as_bytes()).unwrap().as_ref().to_vec()
        } else {
            let mut signature = vec![0; self.rsa.public().modulus_len()];
            let padding = &RSA_PKCS1_SHA256;
            self.rsa.sign(padding, &self.random, message.as_bytes(), &mut signature).unwrap();
            signature
        };
        format!("{message}.{}", encoded(signature))
    }

    /// A token of the key `kid` with good claims, changed by `change`.
    fn token(&self, kid: &str, change: Value) -> String {
        let header = json!({"alg": "RS256", "kid": kid, "typ": "JWT"});
        self.sign(&header.to_string(), &claims(change).to_string())
    }
}

fn claims(change: Value) -> Value {
    let mut claims = json!({
        "iss": "https://id.example", "aud": ["wardian"], "sub": "ada", "tenant": "acme",
        "iat": now(), "exp": now() + 600,
    });
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims
}

/// The flags of a server that takes tokens with these keys.
fn flags(jwks: &str, more: &[&str]) -> Vec<String> {
    let settings = [
        "auth.mode=jwt",
        "auth.jwt.issuer=https://id.example",
        "auth.jwt.audiences=wardian",
        "workers.require_lockdown=false",
    ];
    let settings = settings.into_iter().chain(more.iter().copied()).map(str::to_owned);
    let settings = settings.chain([format!("auth.jwt.jwks={jwks}")]);
    settings.flat_map(|setting| ["--set".to_owned(), setting]).collect()
}

struct Hosted {
    server: TestServer,
    place: Command,
    signer: Signer,
}

impl Hosted {
    fn start(more: &[&str]) -> Self {
        let (place, signer) = (Command::new(), Signer::new("rsa-one.pem"));
        let jwks = place.file("keys.json", signer.set("one"));
        let flags = flags(jwks.to_str().unwrap(), more);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let server = TestServer::start_on(&place.folder().join("data"), &flags);
        Self { server, place, signer }
    }

    fn client(&self, change: Value) -> Client {
        self.server.client().with_key(&self.signer.token("one", change))
    }
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"list_skills"}"#;

fn rpc(server: &TestServer, head: &str) -> crate::support::Reply {
    let head = format!("Host: localhost\r\nContent-Type: application/json\r\n{head}");
    server.connect().post(&head, LIST)
}

fn reasons(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let denied = lines.filter(|line| line["event"] == "unauthorized");
    denied.map(|line| line["about"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line for each token")]
fn only_a_valid_token_lets_a_caller_in_and_the_audit_log_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let audit: PathBuf = folder.path().join("audit.log");
    let hosted = Hosted::start(&[&format!("audit.file={}", audit.display())]);
    let (signer, other) = (&hosted.signer, Signer::new("rsa-two.pem"));
    let good = signer.token("one", json!({}));
    let header = r#"{"alg":"RS256","kid":"one"}"#;
    let ecdsa = signer.sign(r#"{"alg":"ES256","kid":"ec"}"#, &claims(json!({})).to_string());
    for token in [&good, &good, &ecdsa] {
        let let_in = rpc(&hosted.server, &format!("Authorization: Bearer {token}\r\n"));
        assert_eq!(let_in.status, 200, "{let_in:?}");
    }
    let unsigned =
        |header: &str| format!("{}.{}.", encoded(header), encoded(claims(json!({})).to_string()));
    let doubled = claims(json!({})).to_string().replacen('{', "{\"tenant\":\"beta\",", 1);
    let weak: Value = serde_json::from_slice(include_bytes!("../fixtures/jwt/weak.json")).unwrap();
    let key = format!("wardian_aaaaaaaa_{}", "a".repeat(52));
    let wrong = [
        (String::new(), "no token"),
        ("x".to_owned(), "not a signed token"),
        (format!("{good}=="), "not a signed token"),
        (format!("{good},{good}"), "not a signed token"),
        ("a".repeat(12_000), "token too long"),
        (unsigned(r#"{"alg":"none"}"#), "algorithm not allowed"),
        (signer.sign(r#"{"alg":"HS256","kid":"one"}"#, "{}"), "algorithm not allowed"),
        (signer.sign(r#"{"alg":"RS256","kid":"../one"}"#, "{}"), "unknown signing key"),
        (weak["token"].as_str().unwrap().to_owned(), "unknown signing key"),
        (other.token("two", json!({})), "unknown signing key"),
        (other.token("one", json!({})), "wrong signature"),
        (
            signer.sign(r#"{"alg":"RS256","kid":"one","crit":["b64"]}"#, "{}"),
            "header with extensions",
        ),
        (signer.sign(r#"{"alg":"RS256","kid":"one","cty":"JWT"}"#, &good), "not an access token"),
        (signer.sign(header, &doubled), "malformed claims"),
        (signer.token("one", json!({"exp": now() - 60})), "expired"),
        (signer.token("one", json!({"nbf": now() + 600})), "not valid yet"),
        (signer.token("one", json!({"iat": now() + 600})), "issued in the future"),
        (signer.token("one", json!({"aud": "another"})), "foreign audience"),
        (signer.token("one", json!({"iss": "https://evil.example"})), "foreign issuer"),
        (signer.token("one", json!({"tenant": "local"})), "no valid tenant"),
        (signer.token("one", json!({"tenant": "../acme"})), "no valid tenant"),
        (signer.token("one", json!({"exp": "soon"})), "malformed claim"),
        (key, "not a signed token"),
    ];
    let mut answers = Vec::new();
    let mut expected: Vec<&str> = wrong.iter().map(|(_, reason)| *reason).collect();
    let heads = wrong.iter().map(|(token, _)| format!("Authorization: Bearer {token}\r\n"));
    let doubled = format!("Authorization: Bearer {good}\r\n").repeat(2);
    let others = [
        String::new(),
        doubled,
        format!("Authorization: bearer {good}\r\n"),
        format!("Authorization: {good}\r\n"),
        format!("Cookie: access_token={good}\r\n"),
    ];
    for head in heads.chain(others) {
        let refused = rpc(&hosted.server, &head);
        assert_eq!(refused.status, 401, "{head:.200}: {refused:?}");
        assert!(refused.header("www-authenticate").starts_with("Bearer realm=\"wardian\""));
        assert_eq!(refused.kind(), "unauthorized");
        answers.push(refused.body);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "the answer tells what is wrong with a token");
    expected.sort_unstable();
    expected.dedup();
    let found = eventually(PATIENCE, || {
        let mut found = reasons(&audit);
        found.sort_unstable();
        found.dedup();
        (found.len() >= expected.len()).then_some(found)
    });
    assert_eq!(found, expected);
    let text = fs::read_to_string(&audit).unwrap();
    let used = text.lines().filter(|line| line.contains("\"token_used\"")).collect::<Vec<_>>();
    assert_eq!(used.len(), 1, "{text}");
    assert!(used[0].contains("\"tenant\":\"acme\",\"key\":\"token:ada\""), "{used:?}");
    assert!(!text.contains(&good[..60]), "a token is in the audit log");
    // Nothing of a body is read before.
    let mut connection = hosted.server.connect();
    connection.send(
        "PUT /v1/blobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer a.b.c\r\n\
         Content-Length: 10000000000\r\n\r\n",
    );
    let refused = connection.reply();
    assert_eq!((refused.status, refused.header("connection")), (401, "close"));
}

#[test]
fn tokens_of_two_tenants_share_nothing_and_have_the_rights_of_their_scopes() {
    let hosted = Hosted::start(&["auth.jwt.scopes_claim=scope"]);
    let all = "openid wardian:discover wardian:execute wardian:code wardian:blobs";
    let acme = hosted.client(json!({"scope": all}));
    let beta =
        hosted.client(json!({"scope": all.split(' ').collect::<Vec<_>>(), "tenant": "beta"}));
    let blob = acme.create_text("of acme", "text/plain");
    assert_eq!(acme.read_bytes(&blob), b"of acme");
    let missing = beta.refusal("read_blob", json!({"blob_id": blob}));
    assert_eq!(missing.kind, "blob_not_found");
    assert_eq!(beta.get("/v1/blobs").json()["blobs"], json!([]));
    // The same content has another id for each tenant.
    assert_ne!(beta.create_text("of acme", "text/plain"), blob);
    let run = acme.run("print('acme')");
    let id = run["run_id"].as_str().unwrap();
    let shown = eventually(PATIENCE, || {
        let shown = acme.get(&format!("/v1/runs/{id}"));
        (shown.status == 200).then(|| shown.json())
    });
    assert_eq!(shown["key"], "token:ada", "{shown}");
    assert_eq!(beta.get(&format!("/v1/runs/{id}")).status, 404);
    for (scopes, allowed) in [("wardian:blobs", true), ("blobs admin", false), ("", false)] {
        let client = hosted.client(json!({"scope": scopes}));
        assert_eq!(client.get("/v1/blobs").status, if allowed { 200 } else { 403 }, "{scopes}");
        let refused = client.refusal("run_code", json!({"language": "python", "code": "1"}));
        assert_eq!(refused.message, "the caller lacks the scope `code`");
    }
    // Without the claim a token has no rights.
    assert_eq!(hosted.client(json!({})).get("/v1/blobs").status, 403);
}

#[test]
fn a_token_that_expires_stops_between_two_calls_of_one_request() {
    let hosted = Hosted::start(&["auth.jwt.leeway=0"]);
    let keeper = hosted.client(json!({}));
    let ends = now() + 4;
    let brief = hosted.client(json!({"exp": ends}));
    let store = json!({"content": "after the end", "kind": "text/plain"});
    let code = "import time\ntime.sleep(6)\n";
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "run_code",
         "params": {"language": "python", "code": code}},
        {"jsonrpc": "2.0", "id": 2, "method": "create_blob", "params": store},
    ]);
    let answers = brief.post(batch.to_string()).json();
    assert_eq!(answers[0]["result"]["status"], "completed", "it had begun: {answers}");
    assert_eq!(answers[1]["error"]["data"]["kind"], "unauthorized", "{answers}");
    assert_eq!(brief.get("/v1/blobs").status, 401, "a verified token outlives its end");
    assert_eq!(keeper.get("/v1/blobs").json()["blobs"], json!([]));
}

#[test]
fn keys_are_accepted_beside_tokens_if_the_operator_says_so() {
    for (accepts, status) in [("false", 401), ("true", 200)] {
        let hosted = Hosted::start(&[&format!("auth.jwt.accept_keys={accepts}")]);
        let data = hosted.server.data_dir().to_str().unwrap();
        let create = ["--data-dir", data, "keys", "create", "--tenant", "acme", "--name", "ci"];
        let key = hosted.place.run(&create).with(0).stdout.trim_end().to_owned();
        let client = hosted.server.client().with_key(&key);
        eventually(PATIENCE, || (client.get("/v1/blobs").status == status).then_some(()));
        assert_eq!(hosted.client(json!({})).get("/v1/blobs").status, 200);
        // The refusal of a wrong key is that of a wrong token.
        let wrong = hosted.server.client().with_key(&format!("{}b", &key[..68])).get("/v1/blobs");
        let token = hosted.server.client().with_key("a.b.c").get("/v1/blobs");
        assert_eq!((wrong.status, wrong.body), (401, token.body));
    }
}

#[test]
fn settings_of_tokens_that_cannot_be_used_are_one_line_and_change_nothing() {
    let place = Command::new();
    place.file("oct.json", r#"{"keys":[{"kty":"oct","kid":"h","k":"AAAA"}]}"#);
    let weak: Value = serde_json::from_slice(include_bytes!("../fixtures/jwt/weak.json")).unwrap();
    place.file("weak.json", json!({"keys": [weak["jwk"]]}).to_string());
    place.file("html.json", "<html>");
    place.file("huge.json", " ".repeat(300 << 10));
    for (jwks, expected) in [
        ("none.json", "cannot read"),
        ("oct.json", "key `h`: it is symmetric"),
        ("weak.json", "too weak: an RSA key needs at least 2048 bits"),
        ("html.json", "it is not a JSON Web Key Set"),
        ("huge.json", "it has more than 256 KiB"),
        ("http://id.example/jwks", "must be a file or an https:// URL"),
    ] {
        let flags = flags(jwks, &[]);
        let mut arguments = vec!["serve", "--listen", "127.0.0.1:0"];
        arguments.extend(flags.iter().map(String::as_str));
        let refused = place.run(&arguments).with(2);
        assert!(refused.stderr.contains(expected), "{jwks}: {}", refused.stderr);
        let lines = refused.stderr.lines().filter(|line| line.contains("error")).count();
        assert_eq!(lines, 1, "{}", refused.stderr);
        assert!(!place.folder().join("data").try_exists().unwrap(), "{jwks}: something was made");
    }
}

/// The answers of an identity provider.
#[derive(Clone)]
enum Answer {
    Set(String),
    Raw(Vec<u8>),
    /// A byte now and then.
    Slow,
    /// No end.
    Endless,
}

/// The address of an identity provider, over TLS.
struct IdentityProvider {
    url: String,
    answer: Arc<Mutex<Answer>>,
    asked: Arc<AtomicUsize>,
}

impl IdentityProvider {
    fn start(authority: &Authority, answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://localhost:{}/jwks", listener.local_addr().unwrap().port());
        let answer = Arc::new(Mutex::new(answer));
        let asked = Arc::new(AtomicUsize::new(0));
        let (config, shared, count) =
            (authority.server("localhost"), Arc::clone(&answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = rustls::StreamOwned::new(connection, stream.unwrap());
                let (answer, count) = (shared.lock().unwrap().clone(), Arc::clone(&count));
                thread::spawn(move || attend(&mut stream, &answer, &count));
            }
        });
        Self { url, answer, asked }
    }

    fn set(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Answers one request.
fn attend(
    stream: &mut rustls::StreamOwned<rustls::ServerConnection, std::net::TcpStream>,
    answer: &Answer,
    count: &AtomicUsize,
) {
    let mut head = [0; 4_096];
    if stream.read(&mut head).is_ok_and(|read| read > 0) {
        count.fetch_add(1, Ordering::SeqCst);
        // The server may have had enough.
        respond(stream, answer).ok();
        stream.conn.send_close_notify();
        stream.flush().ok();
    }
}

fn respond(stream: &mut impl std::io::Write, answer: &Answer) -> std::io::Result<()> {
    let open = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"keys\":[";
    match answer {
        Answer::Set(set) => write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{set}",
            set.len()
        ),
        Answer::Raw(bytes) => stream.write_all(bytes),
        Answer::Slow => {
            stream.write_all(open)?;
            loop {
                stream.write_all(b" ")?;
                stream.flush()?;
                thread::park_timeout(Duration::from_millis(200));
            }
        }
        Answer::Endless => {
            stream.write_all(open)?;
            loop {
                stream.write_all(&[b' '; 4_096])?;
            }
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "the life of one server")]
fn keys_of_an_address_are_rotated_and_kept_while_it_does_not_answer() {
    let authority = Authority::new();
    let (signer, next) = (Signer::new("rsa-one.pem"), Signer::new("rsa-two.pem"));
    let down = Answer::Raw(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".into());
    let provider = IdentityProvider::start(&authority, down);
    let ca_file = format!("auth.jwt.ca_file={}", authority.path());
    let flags =
        flags(&provider.url, &[&ca_file, "auth.jwt.refresh=10 s", "admin_listen=127.0.0.1:0"]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = TestServer::start(&flags);
    let admin = server.wait_for_log("metrics are at http");
    let admin = admin.rsplit_once("metrics are at ").unwrap().1.trim_end_matches("/metrics");
    let metrics = Client::new(admin.to_owned());
    let failed = || {
        let text = String::from_utf8(metrics.get("/metrics").body).unwrap();
        let name = "wardian_token_key_readings_total{result=\"failed\"} ";
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("0");
        line.parse::<f64>().unwrap()
    };
    // A server starts while its provider does not answer, and lets nobody in.
    let client = |token: &str| server.client().with_key(token);
    let old = signer.token("one", json!({}));
    assert_eq!(client(&old).get("/v1/blobs").status, 503);
    server.wait_for_log("the keys for tokens cannot be read, so tokens are refused");
    provider.set(Answer::Set(signer.set("one")));
    eventually(PATIENCE, || (client(&old).get("/v1/blobs").status == 200).then_some(()));
    // A key that comes is found without waiting for long, and one that goes ends its tokens.
    let new = next.token("two", json!({}));
    assert_eq!(client(&new).get("/v1/blobs").status, 401);
    provider.set(Answer::Set(next.set("two")));
    eventually(PATIENCE, || (client(&new).get("/v1/blobs").status == 200).then_some(()));
    assert_eq!(client(&old).get("/v1/blobs").status, 401, "its key is gone");
    // Whatever else the provider answers than keys, those of before stay.
    let redirect =
        format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", provider.url);
    let html = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>".to_vec();
    let torn = b"HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n{\"keys\":[".to_vec();
    for broken in [
        Answer::Raw(redirect.into_bytes()),
        Answer::Raw(html),
        Answer::Raw(torn),
        Answer::Raw(b"\x00\x01\x02".to_vec()),
        Answer::Endless,
        Answer::Slow,
    ] {
        let before = failed();
        provider.set(broken);
        // Tokens of unknown keys have the keys fetched sooner.
        eventually(PATIENCE, || {
            assert_eq!(client(&old).get("/v1/blobs").status, 401);
            assert_eq!(client(&new).get("/v1/blobs").status, 200, "the keys of before are gone");
            (failed() > before).then_some(())
        });
    }
    // A set without a key that can be used withdraws those of before.
    provider.set(Answer::Set(r#"{"keys":[]}"#.to_owned()));
    let becomes = |status| {
        eventually(PATIENCE, || {
            assert_eq!(client(&old).get("/v1/blobs").status, 401);
            (client(&new).get("/v1/blobs").status == status).then_some(())
        });
    };
    becomes(401);
    provider.set(Answer::Set(next.set("two")));
    becomes(200);
    // Strangers cannot have the provider asked more often.
    let (asked, began) = (provider.asked(), Instant::now());
    while began.elapsed() < Duration::from_secs(11) {
        assert_eq!(client(&old).get("/v1/blobs").status, 401);
    }
    let asked = provider.asked() - asked;
    assert!(asked <= 5, "{asked} requests in 11 seconds");
    // A certificate of an authority that is not trusted is no provider.
    let stranger = IdentityProvider::start(&Authority::new(), Answer::Set(signer.set("one")));
    drop(server);
    let flags = self::flags(&stranger.url, &[&ca_file]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = TestServer::start(&flags);
    server.wait_for_log("the keys for tokens cannot be read, so tokens are refused");
    assert_eq!(server.client().with_key(&old).get("/v1/blobs").status, 503);
}
