//! The conformance suite of the protocol, by the command that has it inside. The machine's Python runs
//! it; without one these tests fail, and say so.

use serde_json::Value;

use crate::support::{Command, TestServer};

/// Cases, failed ones and skipped ones of each level in a report.
fn levels(report: &Value) -> Vec<(&str, [u64; 3])> {
    let count = |level: &Value, outcome: &str| level[outcome].as_u64().unwrap();
    let of = |level: &Value| ["passed", "failed", "skipped"].map(|outcome| count(level, outcome));
    report["levels"].as_object().unwrap().iter().map(|(name, row)| (&**name, of(row))).collect()
}

#[test]
fn wardian_passes_every_case_of_the_protocol_and_of_its_extensions() {
    let place = Command::new();
    let files = ["--json", "report.json", "--junit", "report.xml", "--report", "report.md"];
    let ended =
        place.run(&[&["conformance", "--level", "extensions"], &files[..]].concat()).with(0);
    let report = std::fs::read_to_string(place.folder().join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    let levels = levels(&report);
    let names: Vec<_> = levels.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["extensions", "must", "should"], "{}", ended.stdout);
    for (name, [passed, failed, skipped]) in levels {
        assert!(passed >= 30 && failed == 0 && skipped == 0, "{name}: {}", ended.stdout);
    }
    for file in ["report.xml", "report.md"] {
        let text = std::fs::read_to_string(place.folder().join(file)).unwrap();
        assert!(text.contains("execute.output-blobs"), "{file}");
    }
}

#[test]
fn a_server_that_is_named_is_checked_and_needs_the_skills() {
    let place = Command::new();
    let skills = place.folder().join("skills");
    let skills = skills.to_str().unwrap();
    let said = place.run(&["conformance", "--install", skills]).with(0).stdout;
    assert!(said.contains("conformance.versions.many@1.9.0"), "{said}");
    let server = TestServer::start(&["--skills", skills]);
    let at = |server: &TestServer| format!("--url=http://{}", server.address);
    let said = place.run(&["conformance", &at(&server), "--filter", "list."]).with(0).stdout;
    assert!(said.contains("passed  list.pages") && !said.contains("blobs.id"), "{said}");
    let other = TestServer::shared();
    let told = place.run(&["conformance", &at(other), "--filter", "list."]).with(2).stderr;
    assert!(told.contains("does not have the skills") && told.contains("--install"), "{told}");
    // Cases that need no skills can be run anywhere.
    place.run(&["conformance", &at(other), "--filter", "blobs."]).with(0);
}

#[test]
fn the_key_of_a_server_is_sent() {
    let place = Command::new();
    let data = place.folder().join("data");
    let made = place.run(&["keys", "create", "--tenant", "acme", "--name", "ci"]).with(0).stdout;
    let key = made.trim_end();
    let other = place.run(&["keys", "create", "--tenant", "beta", "--name", "ci"]).with(0).stdout;
    place.file("other-key", other.trim_end());
    let server = TestServer::start_on(
        &data,
        &["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"],
    );
    let url = format!("--url=http://{}", server.address);
    let asked = ["conformance", &url, "--filter", "guide.content"];
    let told = place.run(&asked).with(2).stderr;
    assert!(told.contains("--key-file"), "{told}");
    place.file("key", key);
    place.run(&[&asked[..], &["--key-file", "key"]].concat()).with(0);
    Command::new().set("WARDIAN_API_KEY", key).run(&asked).with(0);

    let two = ["conformance", &url, "--level", "extensions", "--filter", "sessions.tenants"];
    let keys = ["--key-file", "key", "--other-key-file", "other-key"];
    let said = place.run(&[&two[..], &keys].concat()).with(0).stdout;
    assert!(said.contains("passed  sessions.tenants"), "{said}");
}

#[test]
fn a_machine_without_python_is_told_what_to_do() {
    let place = Command::new();
    for more in [&[][..], &["--list"]] {
        let words =
            [&["--set", "engine.python=/nonexistent/python3", "conformance"], more].concat();
        let told = place.run(&words).with(2).stderr;
        assert!(told.contains("needs Python 3.9") && told.contains("engine.python="), "{told}");
    }
}
