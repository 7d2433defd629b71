//! The audit log: what it has, what it never has, and its rotation.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, TestServer, contained, eventually, make_pipe};

const PATIENCE: Duration = Duration::from_secs(60);

struct Audited {
    server: TestServer,
    place: Command,
    file: PathBuf,
}

impl Audited {
    fn start(more: &[&str]) -> Self {
        let place = Command::new();
        let file = place.folder().join("audit.log");
        let setting = format!("audit.file={}", file.display());
        let arguments = [
            &["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"],
            &["--set", setting.as_str()][..],
            more,
        ];
        Self { server: TestServer::start(&arguments.concat()), place, file }
    }

    fn keys(&self, arguments: &[&str]) -> String {
        let data = self.server.data_dir().to_str().unwrap();
        let setting = format!("audit.file={}", self.file.display());
        let first = ["--data-dir", data, "--set", &setting, "keys"];
        self.place.run(&[&first[..], arguments].concat()).with(0).stdout.trim_end().to_owned()
    }

    fn key(&self, tenant: &str, scopes: &str) -> (String, Client) {
        let key = self.keys(&["create", "--tenant", tenant, "--name", "ci", "--scopes", scopes]);
        let client = self.server.client().with_key(&key);
        eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
        (key, client)
    }

    /// The first line of this event, once it is there.
    fn line(&self, event: &str, about: &str) -> Value {
        eventually(PATIENCE, || {
            let fits = |line: &Value| {
                line["event"] == event && (about.is_empty() || line["about"] == about)
            };
            lines(&self.file).into_iter().find(fits)
        })
    }
}

fn lines(file: &Path) -> Vec<Value> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn audit_without_secrets_has_each_event() {
    let audited = Audited::start(&["--set", "tenants.limits=slow.rate=1"]);
    let (key, client) = audited.key("acme", "code");
    let prefix = &key[8..16];
    let made = audited.line("key_created", "");
    assert_eq!((&made["tenant"], &made["key"]), (&json!("acme"), &json!(prefix)));
    assert_eq!(made["about"], "code");
    assert!(made["time"].as_str().unwrap().ends_with('Z'), "{made}");
    let used = audited.line("key_used", "");
    assert_eq!((&used["key"], &used["address"]), (&json!(prefix), &json!("127.0.0.1")));

    let stranger = format!("wardian_aaaaaaaa_{}", "b".repeat(52));
    for _ in 0..5 {
        assert_eq!(audited.server.client().with_key(&stranger).get("/v1/runs").status, 401);
    }
    let denied = audited.line("unauthorized", "");
    assert_eq!(denied.get("key"), None, "what was presented is not written");
    assert!(denied["request_id"].as_str().unwrap().starts_with("req_"));

    assert_eq!(client.refusal("list_skills", json!({})).kind, "forbidden");
    let lacking = audited.line("forbidden", "discover");
    assert_eq!((&lacking["tenant"], &lacking["key"]), (&json!("acme"), &json!(prefix)));
    // The path of blobs was asked for when the key was waited for.
    audited.line("forbidden", "blobs");

    let (_, slow) = audited.key("slow", "discover");
    let params = json!({});
    eventually(PATIENCE, || slow.call("list_skills", params.clone()).err());
    assert_eq!(audited.line("quota_reached", "rate_limited")["tenant"], "slow");

    let code = "import urllib.request\ntry:\n    urllib.request.urlopen('http://denied.example/p?q=quoted')\n\
                except OSError as error:\n    print(error)";
    let result = client.run(code);
    let host = audited.line("host_denied", "denied.example");
    assert_eq!((&host["tenant"], &host["run_id"]), (&json!("acme"), &result["run_id"]));

    let first = client.run_with("x = 1", json!({"session": "new"}));
    let session = first["session"]["id"].as_str().unwrap().to_owned();
    let checkpoint = first["session"]["checkpoint"].as_str().unwrap();
    let path = format!("/v1/sessions/{session}");
    let forks = client.post_json(&format!("{path}/fork"), &json!({})).json();
    let fork = forks["forks"][0]["id"].as_str().unwrap();
    client.post_json(&format!("{path}/restore"), &json!({"checkpoint": checkpoint}));
    client.delete(&path);
    for (event, about) in [
        ("session_created", session.clone()),
        ("session_forked", format!("{fork} of {session}")),
        ("session_restored", format!("{session} to {checkpoint}")),
        ("session_closed", session.clone()),
    ] {
        let line = audited.line(event, &about);
        assert_eq!((&line["tenant"], &line["key"]), (&json!("acme"), &json!(prefix)), "{line}");
        assert!(line["request_id"].is_string(), "{line}");
    }

    audited.keys(&["revoke", prefix]);
    assert_eq!(audited.line("key_revoked", "")["key"], prefix);
    let Audited { server, place: _place, file } = audited;
    drop(server);
    // What repeats was counted, and the counts are written at the end.
    let all = lines(&file);
    let counted = all.iter().filter(|line| line["event"] == "unauthorized");
    let repeats: u64 = counted.filter_map(|line| line["repeats"].as_u64()).sum();
    assert!(repeats >= 4, "{all:?}");
    let text = fs::read_to_string(&file).unwrap();
    for secret in [&key[17..], &stranger[17..], "aaaaaaaa", "quoted", "urlopen", "Bearer"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[test]
fn each_call_of_a_tool_is_a_line_without_its_arguments() {
    let audited = Audited::start(&[]);
    let (_, client) = audited.key("acme", "code");
    let code = "async def main(args):\n    rows = await tools.find(q='arguments')\n    \
                try:\n        await tools.find(q=1)\n    except tools.ToolError:\n        return rows";
    let schema = json!({"properties": {"q": {"type": "string"}}});
    let tools = json!({"tools": [{"name": "find", "input_schema": schema}]});
    let asked = client.run_with(code, tools);
    let session = asked["session"]["id"].as_str().unwrap();
    let answers = json!([{"id": "c1-r1", "output": "an output"}]);
    let ended = client.run_with("", json!({"session": session, "answers": answers}));
    assert_eq!(ended["output"]["result"], "an output", "{ended:#}");
    let calls = eventually(PATIENCE, || {
        let calls = lines(&audited.file).into_iter().filter(|line| line["event"] == "tool_called");
        Some(calls.collect::<Vec<Value>>()).filter(|calls| calls.len() == 2)
    });
    for (call, begin) in calls.iter().zip(["c1-r1 answered ", "c1-r2 refused "]) {
        let about = call["about"].as_str().unwrap();
        assert!(about.starts_with(&format!("{session} {begin}")), "{about}");
        assert!(about.ends_with(" find"), "{about}");
        assert_eq!(call["tenant"], "acme");
    }
    let text = fs::read_to_string(&audited.file).unwrap();
    assert!(!text.contains("an output") && !text.contains("'arguments'"), "{text}");
}

#[test]
fn a_renamed_audit_log_is_left_on_sighup() {
    let audited = Audited::start(&["--set", "audit.every_event=true"]);
    let stranger = audited.server.client();
    assert_eq!(stranger.get("/v1/runs").status, 401);
    audited.line("unauthorized", "");
    let old = audited.file.with_extension("1");
    fs::rename(&audited.file, &old).unwrap();
    let before = lines(&old).len();
    audited.server.process().hang_up();
    audited.server.wait_for_log("the audit log file was reopened");
    for _ in 0..3 {
        assert_eq!(stranger.get("/v1/runs").status, 401);
    }
    eventually(PATIENCE, || (lines(&audited.file).len() == 3).then_some(()));
    assert_eq!(lines(&old).len(), before);
}

#[test]
fn an_audit_log_that_cannot_be_opened_stops_the_start_and_one_that_fails_does_not() {
    let place = Command::new();
    let wrong = place.folder().join("none/audit.log");
    let setting = format!("audit.file={}", wrong.display());
    let ended = place.run(&["serve", "--listen", "127.0.0.1:0", "--set", &setting]).with(2);
    let says = ["none/audit.log", "cannot be opened", "`audit.file`"];
    assert!(contained(&ended.stderr, says).is_empty(), "{}", ended.stderr);
    // A pipe that nobody reads is not waited for.
    let pipe = place.folder().join("pipe");
    make_pipe(&pipe);
    let setting = format!("audit.file={}", pipe.display());
    let ended = place.run(&["serve", "--listen", "127.0.0.1:0", "--set", &setting]).with(2);
    assert!(contained(&ended.stderr, ["pipe", "cannot be opened"]).is_empty(), "{}", ended.stderr);
    let more = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    let server = TestServer::start(&[&more[..], &["--set", "audit.file=/dev/full"]].concat());
    assert_eq!(server.client().get("/v1/runs").status, 401);
    server.wait_for_log("a line of the audit log was lost: No space left on device");
    let warnings = server.client().get("/readyz").json()["warnings"].to_string();
    assert!(warnings.contains("1 lines of the audit log were lost"), "{warnings}");
}
