//! The console: its pages, what they may ask, and the pages in a browser.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};

use serde_json::json;

use crate::support::cache::own_cache;
use crate::support::{Command, TestServer, repository};

#[test]
fn the_console_is_there_before_a_key_is() {
    let place = Command::new();
    let data = place.folder().join("data");
    let server = TestServer::start_on(
        &data,
        &["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"],
    );
    let client = server.client();
    for path in ["/console", "/console/app.js", "/console/style.css"] {
        let answer = client.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-security-policy").contains("script-src 'self'"), "{path}");
    }
    for path in ["/v1/caller", "/v1/keys", "/v1/metrics"] {
        assert_eq!(client.get(path).status, 401, "{path}");
    }
    let data = data.to_str().unwrap();
    let key = |scopes: &str| {
        let arguments = ["--data-dir", data, "keys", "create", "--tenant", "acme", "--name", "k"];
        let made = place.run(&[&arguments[..], &["--scopes", scopes]].concat()).with(0).stdout;
        made.trim_end().to_owned()
    };
    let (usual, operator) = (key("discover,execute,code,blobs"), key("admin"));
    crate::support::eventually(std::time::Duration::from_secs(20), || {
        (server.client().with_key(&operator).get("/v1/caller").status == 200).then_some(())
    });
    let usual_client = server.client().with_key(&usual);
    let caller = usual_client.get("/v1/caller").json();
    assert_eq!(caller["tenant"], "acme");
    assert_eq!(caller["scopes"], json!(["discover", "execute", "code", "blobs"]));
    for path in ["/v1/keys", "/v1/metrics"] {
        let refused = usual_client.get(path);
        assert_eq!((refused.status, refused.error().1.as_str()), (403, "forbidden"), "{path}");
    }
    let operator_client = server.client().with_key(&operator);
    let keys = operator_client.get("/v1/keys").json();
    assert_eq!((&keys["accepted"], keys["keys"].as_array().unwrap().len()), (&json!(true), 2));
    for key in keys["keys"].as_array().unwrap() {
        assert_eq!((&key["tenant"], &key["name"]), (&json!("acme"), &json!("k")));
    }
    // What is listed names keys, and is none.
    for secret in [&usual, &operator] {
        assert!(!keys.to_string().contains(secret.rsplit('_').next().unwrap()));
    }
    assert_eq!(operator_client.get("/v1/metrics").status, 200);
}

/// A server that takes keys and writes an audit log.
struct AuditedServer {
    server: TestServer,
    audit_log: PathBuf,
    place: Command,
}

impl AuditedServer {
    fn start() -> Self {
        let place = Command::new();
        let audit_log = place.folder().join("audit.log");
        let file = format!("audit.file={}", audit_log.display());
        let server = TestServer::start_on(
            &place.folder().join("data"),
            &["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false", "--set", &file],
        );
        Self { server, audit_log, place }
    }

    /// Makes a key with the command and waits until the server knows it.
    fn key(&self, scopes: &str) -> String {
        let data = self.server.data_dir().to_str().unwrap();
        let arguments = ["--data-dir", data, "keys", "create", "--tenant", "acme", "--name", "k"];
        let made = self.place.run(&[&arguments[..], &["--scopes", scopes]].concat()).with(0).stdout;
        let made = made.trim_end().to_owned();
        crate::support::eventually(std::time::Duration::from_secs(20), || {
            (self.server.client().with_key(&made).get("/v1/caller").status == 200)
                .then_some(made.clone())
        })
    }

    /// The status and the value that answer a POST request.
    fn post(&self, key: &str, path: &str, kind: &str, body: &str) -> (u16, serde_json::Value) {
        let request = ureq::post(format!("http://{}{path}", self.server.address));
        let request = request.header("Authorization", format!("Bearer {key}"));
        let request = request.config().http_status_as_error(false).build();
        let mut answer = request.header("Content-Type", kind).send(body).unwrap();
        let text = answer.body_mut().read_to_string().unwrap();
        (answer.status().as_u16(), serde_json::from_str(&text).unwrap())
    }

    /// The audit log, once it has this text.
    fn audit_log_with(&self, text: &str) -> String {
        crate::support::eventually(std::time::Duration::from_secs(20), || {
            std::fs::read_to_string(&self.audit_log).ok().filter(|lines| lines.contains(text))
        })
    }
}

/// Bodies of requests for a key that are refused.
const WRONG_KEY_ORDERS: [&str; 11] = [
    "",
    "[]",
    "{}",
    r#"{"tenant": "beta"}"#,
    r#"{"tenant": "BETA", "name": "ci"}"#,
    r#"{"tenant": "beta", "name": "\n"}"#,
    r#"{"tenant": "b", "name": "c", "scopes": ["root"]}"#,
    r#"{"tenant": "b", "name": "c", "expires_ms": 0}"#,
    r#"{"tenant": "b", "name": "c", "x": 1}"#,
    r#"{"tenant": "b", "tenant": "c", "name": "c"}"#,
    r#"{"tenant": "b", "name": "c", "expires_ms": 18446744073709551615}"#,
];

#[test]
fn an_operator_makes_and_revokes_keys_over_http() {
    let audited = AuditedServer::start();
    let server = &audited.server;
    let operator = audited.key("admin");
    let usual = audited.key("discover,execute,code,blobs");
    let send = |key: &str, path: &str, kind: &str, body: &str| audited.post(key, path, kind, body);
    let order = r#"{"tenant": "beta", "name": "ci", "scopes": ["code"], "expires_ms": 60000}"#;
    let (status, refused) = send(&usual, "/v1/keys", "application/json", order);
    assert_eq!((status, &refused["error"]["data"]["kind"]), (403, &json!("forbidden")));
    assert_eq!(send(&operator, "/v1/keys", "text/plain", order).0, 415);
    for wrong in WRONG_KEY_ORDERS {
        assert_eq!(send(&operator, "/v1/keys", "application/json", wrong).0, 400, "{wrong}");
    }
    let (status, made) = send(&operator, "/v1/keys", "application/json", order);
    assert_eq!(status, 201, "{made}");
    let (secret, prefix) = (made["key"].as_str().unwrap(), made["prefix"].as_str().unwrap());
    // It works at once, and is shown in no list.
    let caller = server.client().with_key(secret).get("/v1/caller").json();
    assert_eq!((&caller["tenant"], &caller["scopes"]), (&json!("beta"), &json!(["code"])));
    let listed = server.client().with_key(&operator).get("/v1/keys").json().to_string();
    assert!(listed.contains(prefix) && !listed.contains(secret.rsplit('_').next().unwrap()));
    let path = format!("/v1/keys/{prefix}/revoke");
    assert_eq!(send(&usual, &path, "application/json", "").0, 403);
    for revoked in [true, false] {
        let (status, ended) = send(&operator, &path, "application/json", "");
        assert_eq!((status, &ended["revoked"]), (200, &json!(revoked)));
        assert_eq!(server.client().with_key(secret).get("/v1/caller").status, 401);
    }
    for unknown in ["k3v5w2aa", "x", "%2E%2E"] {
        let path = format!("/v1/keys/{unknown}/revoke");
        assert_eq!(send(&operator, &path, "application/json", "").0, 400, "{unknown}");
    }
    let lines = audited.audit_log_with("key_revoked");
    let by = operator.split('_').nth(1).unwrap();
    for (event, about) in
        [("key_created", format!("code by {by}")), ("key_revoked", format!("by {by}"))]
    {
        let is_told = |line: &str| {
            line.contains(event)
                && line.contains(prefix)
                && line.contains(&format!("\"about\":\"{about}\""))
        };
        assert!(lines.lines().any(is_told), "{event}: {lines}");
    }
    assert!(!lines.contains(secret));
    let overview = server.client().with_key(&operator).get("/v1/overview");
    assert_eq!(overview.status, 200);
    assert!(!overview.json()["samples"].as_array().unwrap().is_empty());
    assert_eq!(server.client().with_key(&usual).get("/v1/overview").status, 403);
}

#[test]
fn a_server_without_keys_makes_none() {
    let server = TestServer::start(&[]);
    let request = ureq::post(format!("http://{}/v1/keys", server.address));
    let request = request.config().http_status_as_error(false).build();
    let order = r#"{"tenant": "beta", "name": "ci"}"#;
    let mut answer = request.header("Content-Type", "application/json").send(order).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    assert!(answer.status() == 400 && text.contains("accepts no keys"), "{text}");
}

#[test]
fn the_overview_counts_runs_and_tells_their_quantiles() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let runs =
        |overview: &serde_json::Value, place: usize| overview["samples"][place]["runs"].as_u64();
    let before = client.get("/v1/overview").json();
    client.run("1");
    client.run("1 / 0");
    let after = client.get("/v1/overview").json();
    let last = after["samples"].as_array().unwrap().len() - 1;
    assert_eq!((runs(&before, 0), runs(&after, 0)), (Some(0), Some(0)));
    assert_eq!((runs(&after, last), &after["samples"][last]["failed"]), (Some(2), &json!(1)));
    assert_eq!(after["samples"][last]["age_ms"], 0);
    let phases = after["phases"].as_array().unwrap();
    let execute = phases.iter().find(|phase| phase["phase"] == "execute").unwrap();
    let [mean, p50, p99] =
        ["mean_us", "p50_us", "p99_us"].map(|name| execute[name].as_f64().unwrap());
    assert!(execute["count"] == 2 && p50 <= p99 && mean <= p99 * 1.06, "{execute}");
}

#[test]
fn the_console_can_be_turned_off() {
    let server = TestServer::start(&["--set", "console.enabled=false"]);
    assert_eq!(server.client().get("/console").status, 404);
    assert_eq!(server.client().get("/console/app.js").status, 404);
}

/// Where this machine has no browser, this is told and nothing is tested: see the next test.
#[test]
fn the_pages_work_in_a_browser() {
    let ended = check_console(&[]);
    assert!(ended.is_good, "{}", ended.text);
    if ended.text.contains("SKIPPED") {
        // Past the harness, which keeps what a test prints unless the test fails.
        writeln!(std::io::stderr(), "\n{}", ended.text.trim()).unwrap();
    } else {
        assert!(ended.text.contains("\nOK"), "{}", ended.text);
    }
}

#[test]
fn without_a_browser_the_tests_of_pages_are_skipped_loudly() {
    let nothing = [("CHROMIUM", ""), ("CHROMEDRIVER", ""), ("PATH", "/nowhere")];
    let ended = check_console(&nothing);
    assert!(ended.is_good && ended.text.contains("SKIPPED"), "{}", ended.text);
    let needed = [("WARDIAN_NEED_BROWSER", "1")];
    let ended = check_console(&[&nothing[..], &needed].concat());
    assert!(!ended.is_good && ended.text.contains("no Chromium"), "{}", ended.text);
}

struct Checked {
    is_good: bool,
    text: String,
}

/// Runs `scripts/check-console` with the program that is tested.
fn check_console(environment: &[(&str, &str)]) -> Checked {
    // By its path: some tests take the folders of programs away.
    let found = Process::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = String::from_utf8(found.unwrap().stdout).unwrap();
    let ended = Process::new(python.trim_end())
        .arg(repository("scripts/check-console"))
        .env("WARDIAN", env!("CARGO_BIN_EXE_wardian"))
        .env("WARDIAN_CACHE_DIR", own_cache())
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = [ended.stdout, ended.stderr].concat();
    Checked { is_good: ended.status.success(), text: String::from_utf8(text).unwrap() }
}
