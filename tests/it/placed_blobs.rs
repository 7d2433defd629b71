//! Blobs that a call puts at paths of the working folder.

use serde_json::{Value, json};

use crate::support::{Client, Command, SkillFolder, TestServer, failed, output};

const TABLE: &str = "a,b\n1,2\n";

fn at(blob: &str, path: &str) -> Value {
    json!({"blob": blob, "path": path})
}

fn table(client: &Client) -> String {
    client.create_text(TABLE, "text/csv")
}

/// The value of code that runs with these blobs.
fn value(client: &Client, code: &str, blobs: &Value) -> Value {
    output(&client.run_with(code, json!({"input_blobs": blobs})))["result"].clone()
}

/// The message of a refusal that has to name `input_blobs`.
fn refusal(client: &Client, blobs: &Value) -> String {
    let params = json!({"language": "python", "code": "1", "input_blobs": blobs});
    let refused = client.refusal("run_code", params);
    assert_eq!(refused.kind, "invalid_params", "{refused:?}");
    assert!(refused.message.contains("`input_blobs"), "{refused:?}");
    refused.message
}

#[test]
fn a_program_finds_and_changes_its_copy() {
    let client = TestServer::shared().client();
    let blob = table(&client);
    let code = "import os\nwith open('data/in.csv', 'a') as file: file.write('3,4\\n')\n\
                found = sorted(os.path.join(f, n) for f, _, names in os.walk('.') for n in names)\n\
                [found, open('data/in.csv').read(), open('other.csv').read(), os.stat('other.csv').st_size]";
    let blobs = json!([at(&blob, "data/in.csv"), at(&blob, "other.csv")]);
    let result = client.run_with(code, json!({"input_blobs": blobs}));
    let expected = json!([["./data/in.csv", "./other.csv"], "a,b\n1,2\n3,4\n", TABLE, 8]);
    assert_eq!(output(&result)["result"], expected);
    let left: Vec<_> = result["files"].as_array().unwrap().iter().map(|f| &f["path"]).collect();
    assert_eq!(left, ["data/in.csv"], "the other one has not changed");
    assert_eq!(client.read_bytes(&blob), TABLE.as_bytes());
    // Each run has its own.
    assert_eq!(value(&client, "open('data/in.csv').read()", &blobs), TABLE);
}

#[test]
fn a_path_comes_before_names() {
    let client = TestServer::shared().client();
    let named = |content: &str, name: &str| {
        let params = json!({"content": content, "kind": "text/plain", "name": name});
        client.call("create_blob", params).unwrap()["blob_id"].as_str().unwrap().to_owned()
    };
    let (first, second) = (named("named", "placed.txt"), named("at a path", "second.txt"));
    let code = format!(
        "import os\n[sorted(os.listdir()), open('placed.txt').read(), \
                        open('{first}').read(), open('/blobs/second.txt').read()]"
    );
    let found = value(&client, &code, &json!([first, at(&second, "placed.txt")]));
    assert_eq!(found, json!([["placed.txt"], "at a path", "named", "at a path"]));
}

#[test]
fn wrong_paths_are_refused_before_anything_runs() {
    let client = TestServer::shared().client();
    let blob = table(&client);
    for path in ["", "/etc/passwd", "../x", "a/../x", "a//x", "a/", "./x", "a\\x", "a\0"] {
        let message = refusal(&client, &json!([at(&blob, path)]));
        assert!(message.starts_with("parameter `input_blobs[0].path` must be"), "{message}");
    }
    let below = refusal(&client, &json!([at(&blob, "a"), at(&blob, "a/b")]));
    assert!(below.contains("`a/b` lies below `a`, which is a file"), "{below}");
    let twice =
        refusal(&client, &json!([at(&blob, "a"), at(&client.create_text("x", "text/plain"), "a")]));
    assert!(twice.contains("`a` is given twice"), "{twice}");
    refusal(&client, &json!([{"blob": blob}]));
    refusal(&client, &json!([{"blob": blob, "path": "a", "mode": "r"}]));
    let gone = at(&format!("blob:{}", "a".repeat(52)), "a");
    let params = json!({"language": "python", "code": "1", "input_blobs": [gone]});
    assert_eq!(client.refusal("run_code", params).kind, "blob_not_found");
}

#[test]
fn files_count_against_the_workspace() {
    let client = TestServer::shared().client();
    let blob = client.create_text(&"x".repeat(100_000), "text/plain");
    let with = |paths: &[&str], workspace: u64| {
        let blobs: Vec<Value> = paths.iter().map(|path| at(&blob, path)).collect();
        json!({"input_blobs": blobs, "limits": {"workspace_bytes": workspace}})
    };
    let mut params = with(&["a", "b"], 150_000);
    params["language"] = "python".into();
    params["code"] = "1".into();
    let refused = client.refusal("run_code", params);
    assert_eq!(
        (refused.kind.as_str(), &refused.data["parameter"]),
        ("invalid_params", &json!("input_blobs"))
    );
    assert!(refused.message.contains("`limits.workspace_bytes`"), "{refused:?}");
    let writing = |size: u32| {
        format!("with open('more', 'w') as more:\n    more.write('y' * {size})\n{size}")
    };
    let fitting = client.run_with(&writing(20_000), with(&["a"], 150_000));
    assert_eq!(output(&fitting)["result"], 20_000);
    let full = client.run_with(&writing(60_000), with(&["a"], 150_000));
    assert_eq!(failed(&full).0, "OSError", "what is placed is charged from the beginning");
    let removed = format!("import os\nos.remove('a')\n{}", writing(60_000));
    assert_eq!(output(&client.run_with(&removed, with(&["a"], 150_000)))["result"], 60_000);
}

#[test]
fn a_skill_finds_data_and_never_a_module() {
    let skills = SkillFolder::new();
    let code = "import os\ndef main(args):\n    return [open('in/t.csv').read(), os.listdir()]\n";
    skills.action("acme.reader", "1.0.0", code);
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let blob = table(&client);
    let params = |path: &str| json!({"name": "acme.reader", "input_blobs": [at(&blob, path)]});
    let result = client.call("execute_skill", params("in/t.csv")).unwrap();
    assert_eq!(output(&result)["result"], json!([TABLE, ["in"]]));
    for module in ["json.py", "in/__init__.PY", "os.so"] {
        let refused = client.refusal("execute_skill", params(module));
        assert!(refused.message.contains(module), "{refused:?}");
    }
    let own = value(
        &client,
        "import helper\nhelper.X",
        &json!([at(&client.create_text("X = 7", "text/x-python"), "helper.py")]),
    );
    assert_eq!(own, 7, "code may bring its own modules");
}

#[test]
fn a_session_keeps_the_files_that_it_began_with() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let blob = table(&client);
    let other = client.create_text("other", "text/plain");
    let body = json!({"input_blobs": [at(&blob, "data/in.csv"), other]});
    let made = client.post_json("/v1/sessions", &body);
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let cell = |code: &str| {
        let result = client.run_with(code, json!({"session": id}));
        assert_eq!(result["session"]["state"], "kept", "{result:#}");
        output(&result)["result"].clone()
    };
    assert_eq!(cell("open('data/in.csv').read()"), TABLE);
    cell("with open('data/in.csv', 'a') as file: file.write('3,4\\n')");
    // The interpreter is made of its checkpoint.
    let fork = client.post_json(&format!("/v1/sessions/{id}/fork"), &json!({})).json();
    let fork = fork["forks"][0]["id"].as_str().unwrap();
    for session in [fork, &id] {
        let params = json!({"session": session});
        let read = client
            .run_with(&format!("open('data/in.csv').read() + open('{other}').read()"), params);
        assert_eq!(output(&read)["result"], format!("{TABLE}3,4\nother"), "{read:#}");
    }
    let params =
        json!({"language": "python", "code": "1", "session": id, "input_blobs": [at(&blob, "x")]});
    assert!(client.refusal("run_code", params).message.contains("first call"));
    for (wrong, status) in [
        (json!({"input_blobs": [at(&blob, "../x")]}), 400),
        (json!({"input_blobs": [{"blob": blob}]}), 400),
        (json!({"input_blobs": [at(&blob, "a")], "limits": {"workspace_bytes": 500}}), 400),
    ] {
        assert_eq!(client.post_json("/v1/sessions", &wrong).status, status, "{wrong}");
    }
}

#[test]
fn a_reproducible_run_records_the_paths() {
    let place = Command::new();
    place.file("in.csv", TABLE);
    let code =
        "with open('data/in.csv', 'a') as file: file.write('3,4\\n')\nopen('data/in.csv').read()";
    let run =
        ["run", "-c", code, "--file", "in.csv=data/in.csv", "--reproducible", "--record", "r.json"];
    let ended = place.run(&run).with(0);
    assert_eq!(ended.json()["result"], "a,b\n1,2\n3,4\n");
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.folder().join("r.json")).unwrap()).unwrap();
    assert_eq!(document["inputs"]["blobs"][0]["paths"], json!(["data/in.csv"]));
    place.run(&["verify", "r.json", "--blobs", "."]).with(0);
    let misplaced = place.run(&["run", "-c", "1", "--file", "in.csv=../in.csv"]).with(2);
    assert!(misplaced.stderr.contains("without `.` and `..`"), "{}", misplaced.stderr);
}
