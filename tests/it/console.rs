//! The console: its pages, what they may ask, and the pages in a browser.

use std::io::Write as _;
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
