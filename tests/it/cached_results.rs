//! Results of reproducible runs that are answered without executing anything.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, SkillFolder, TestServer, eventually, failed};

fn ask(client: &Client, code: &str, more: &Value) -> Value {
    let mut params = json!({"reproducible": {"cache": true}, "timeout_ms": 300_000});
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    client.run_with(code, params)
}

fn is_cached(result: &Value) -> bool {
    result.get("cached").is_some_and(|cached| *cached == true)
}

/// A result without what belongs to one answer.
fn lasting(result: &Value) -> Value {
    let mut result = result.clone();
    for member in ["run_id", "duration_ms", "cached"] {
        result.as_object_mut().unwrap().remove(member);
    }
    result
}

#[test]
fn the_same_run_is_answered_without_a_worker_and_each_ingredient_alone_runs_anew() {
    let skills = SkillFolder::new();
    skills.action("acme.a", "1.0.0", "def main(args):\n    print('in')\n    return args\n");
    let server = TestServer::start(&["--skills", skills.path(), "--workers", "1"]);
    let client = server.client();
    let code = "import random\nprint('out')\ndef main(args):\n    return [random.random(), args]\n";
    let none = json!({});
    let first = ask(&client, code, &none);
    assert!(first.get("cached").is_none(), "{first}");
    let again = ask(&client, code, &none);
    assert!(is_cached(&again), "{again}");
    assert_eq!(lasting(&again), lasting(&first));
    assert_ne!(again["run_id"], first["run_id"]);
    assert_eq!(again["duration_ms"], 0);
    // Without the wish nothing is answered from there, and the result is the same.
    let asked = client.run_with(code, json!({"reproducible": true, "timeout_ms": 300_000}));
    assert!(!is_cached(&asked));
    assert_eq!(lasting(&asked), lasting(&first));
    // The time that a run may take decides nothing that is kept.
    assert!(is_cached(&ask(&client, code, &json!({"timeout_ms": 299_999}))));
    for more in [
        json!({"args": {"a": 1}}),
        json!({"reproducible": {"cache": true, "seed": 1}}),
        json!({"reproducible": {"cache": true, "epoch": 1}}),
        json!({"limits": {"fuel": 1_000_000_000_000_u64}}),
        json!({"limits": {"memory_bytes": 400 << 20}}),
        json!({"keep_files": true}),
        json!({"entrypoint": "main"}),
        json!({"mount_skills": ["acme.a"]}),
    ] {
        assert!(!is_cached(&ask(&client, code, &more)), "{more}");
        assert!(is_cached(&ask(&client, code, &more)), "{more}");
    }
    assert!(!is_cached(&ask(&client, &format!("{code} "), &none)));
    // A skill that changed is another one.
    let execute = || {
        let params = json!({"name": "acme.a", "args": {}, "reproducible": {"cache": true}});
        client.call("execute_skill", params).unwrap()
    };
    assert!(!is_cached(&execute()));
    let kept = execute();
    assert!(is_cached(&kept));
    assert_eq!(kept["logs_preview"], "in\n");
    // The run is recorded as one that executed nothing.
    let id = again["run_id"].as_str().unwrap();
    let record = eventually(Duration::from_secs(60), || {
        let answer = client.get(&format!("/v1/runs/{id}"));
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!((&record["cached"], &record["outcome"]), (&json!(true), &json!("completed")));
    assert_eq!((&record["cpu_us"], &record["phases_us"]["execute"]), (&Value::Null, &Value::Null));
}

#[test]
fn lasting_results() {
    let server = TestServer::start(&["--set", "results.memory=1 MiB"]);
    let client = server.client();
    for (code, more, kind) in [
        ("while True: pass", json!({"timeout_ms": 300}), "Timeout"),
        ("import posix\nposix.abort()", json!({}), "SandboxCrash"),
        ("x = bytearray(1 << 40)", json!({}), "OverflowError"),
    ] {
        let first = ask(&client, code, &more);
        let second = ask(&client, code, &more);
        let is_kept = kind == "OverflowError";
        assert_eq!(failed(&first).0, kind, "{first}");
        assert_eq!(is_cached(&second), is_kept, "{second}");
    }
    // An exception and the end of the fuel repeat.
    for code in ["raise ValueError('no')", "while True: pass"] {
        let more = json!({"limits": {"fuel": 200_000_000}});
        let first = ask(&client, code, &more);
        let second = ask(&client, code, &more);
        assert!(is_cached(&second), "{second}");
        assert_eq!(lasting(&second), lasting(&first));
    }
}

#[test]
fn a_result_whose_blobs_are_gone_is_made_again() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let code = "import runtime\nruntime.blobs.write_text('kept', 'text/plain')\nNone";
    let first = ask(&client, code, &json!({}));
    let id = first["output_blobs"][0].as_str().unwrap().to_owned();
    assert!(is_cached(&ask(&client, code, &json!({}))));
    let removed = client.delete(&format!("/v1/blobs/{id}"));
    assert!(removed.status < 300, "{}", removed.status);
    let again = ask(&client, code, &json!({}));
    assert!(!is_cached(&again), "{again}");
    assert_eq!(again["output_blobs"][0], id.as_str());
    assert!(is_cached(&ask(&client, code, &json!({}))));
}

#[test]
fn answers_from_the_cache_are_asked_for_alone() {
    let client = TestServer::shared().client();
    for more in [json!({"detach": true}), json!({"idempotency_key": "one"})] {
        let mut params =
            json!({"code": "1", "language": "python", "reproducible": {"cache": true}});
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        let refused = client.refusal("run_code", params);
        assert!(format!("{refused:?}").contains("without `cache`"), "{refused:?}");
    }
}
