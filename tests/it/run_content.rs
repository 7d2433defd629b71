//! What records keep of programs: titles, labels, programs, arguments and output; and the search in
//! them, also over tenants.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Client, Command, SkillFolder, TestServer, eventually};

const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the record of a run is written.
fn written(client: &Client, result: &Value) -> String {
    let id = result["run_id"].as_str().unwrap().to_owned();
    eventually(PATIENCE, || {
        (client.get(&format!("/v1/runs/{id}?wait_ms=2000")).status == 200).then_some(())
    });
    id
}

fn content(client: &Client, id: &str) -> Value {
    let answer = client.get(&format!("/v1/runs/{id}/content"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

/// Titles of the listed runs, newest first.
fn titles(client: &Client, query: &str) -> Vec<Value> {
    let answer = client.get(&format!("/v1/runs{query}"));
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    answer.json()["runs"].as_array().unwrap().iter().map(|run| run["title"].clone()).collect()
}

#[test]
fn a_record_keeps_the_program_its_arguments_and_its_output() {
    let server = TestServer::start(&["--set", "records.max_program=1 KiB"]);
    let client = server.client();
    let code = "import os\n# Sums of a day\ndef main(args):\n    open('left.txt', 'w').write('x')\n    \
                return {'n': args['n'] + 1}";
    let made = client.run_with(code, json!({"args": {"n": 4}, "keep_files": false}));
    let id = written(&client, &made);
    let kept = content(&client, &id);
    assert_eq!(kept["code"], json!({"text": code, "cut": false}));
    assert_eq!(kept["arguments"], json!({"text": r#"{"n":4}"#, "cut": false}));
    assert_eq!((&kept["output"], &kept["output_truncated"]), (&json!({"n": 5}), &json!(false)));
    assert_eq!((&kept["files"][0]["path"], &kept["files_total"]), (&json!("left.txt"), &json!(1)));
    assert_eq!(titles(&client, ""), [json!("Sums of a day")]);
    // A label is the title, and a long program is cut between its letters.
    let long = format!("x = '{}'\n{{'x': x}}", "ä".repeat(4_000));
    let params = json!({"label": "Nightly report", "args": {"text": "x".repeat(3_000)}});
    let id = written(&client, &client.run_with(&long, params));
    let kept = content(&client, &id);
    for part in ["code", "arguments"] {
        let (text, cut) = (kept[part]["text"].as_str().unwrap(), &kept[part]["cut"]);
        assert!(cut == true && (1_020..=1_024).contains(&text.len()), "{part}: {}", text.len());
    }
    assert_eq!(kept["output_truncated"], true);
    let record = client.get(&format!("/v1/runs/{id}")).json();
    assert_eq!(record["label"], "Nightly report");
    assert_eq!(titles(&client, "?limit=1"), [json!("Nightly report")]);
    for label in ["x".repeat(201), "a\nb".to_owned(), " ".to_owned(), "a\u{202e}b".to_owned()] {
        let params = json!({"language": "python", "code": "1", "label": label});
        assert_eq!(client.refusal("run_code", params).kind, "invalid_params", "{label:?}");
    }
    // What was converted is named, as in the result, so that a table is shown as one.
    let code = "import pandas as pd, datetime\n{'list': [{'z': 1}], 'frame': pd.DataFrame({'a': \
                [1, 2]}), 'day': datetime.date(2026, 1, 2)}";
    let made = client.run(code);
    assert_eq!(made["converted"].as_array().unwrap().len(), 2, "{made}");
    let kept = content(&client, &written(&client, &made));
    assert_eq!(kept["converted"], made["converted"], "{kept}");
    assert_eq!((&kept["converted_total"], &kept["output"]), (&Value::Null, &made["output"]));
    let many = client.run("import decimal\n{f'k{n}': decimal.Decimal(n) for n in range(30)}");
    assert_eq!(many["converted_total"], 30, "{many}");
    let kept = content(&client, &written(&client, &many));
    assert_eq!((&kept["converted"], &kept["converted_total"]), (&many["converted"], &json!(30)));
    // What a client does not have is not told apart from what nobody has.
    let nobodys = client.get(&format!("/v1/runs/run_{}/content", "0".repeat(32)));
    assert_eq!((nobodys.status, nobodys.error().1.as_str()), (404, "run_not_found"));
}

#[test]
fn runs_are_searched_and_found_by_their_blobs() {
    let server = TestServer::start(&[]);
    let client = server.client();
    let failed = client.run_with("1 / 0", json!({"label": "Über Teilung 100%_x"}));
    written(&client, &failed);
    let code =
        "# Writer\nfrom runtime import blobs\n{'b': blobs.write_text('made', kind='text/plain')}";
    let made = client.run(code);
    let id = written(&client, &made);
    let blob = made["output"]["b"].as_str().unwrap();
    for (query, found) in [
        ("?search=%C3%9CBER", vec!["Über Teilung 100%_x"]),
        ("?search=division+by+zero", vec!["Über Teilung 100%_x"]),
        ("?search=zerodivisionerror+teilung", vec!["Über Teilung 100%_x"]),
        ("?search=%25_", vec!["Über Teilung 100%_x"]),
        ("?search=writer", vec!["Writer"]),
        ("?search=writer+teilung", vec![]),
        ("?search=run_code", vec!["Writer", "Über Teilung 100%_x"]),
        ("?search=run_code&outcome=completed", vec!["Writer"]),
        ("?until=1", vec![]),
        ("?until=9000000000000", vec!["Writer", "Über Teilung 100%_x"]),
    ] {
        assert_eq!(titles(&client, query), found, "{query}");
    }
    assert_eq!(titles(&client, &format!("?search={id}")), ["Writer"]);
    assert_eq!(titles(&client, &format!("?blob={}", blob.replace(':', "%3A"))), ["Writer"]);
    let unknown = format!("?blob=blob%3A{}", "a".repeat(52));
    assert_eq!(titles(&client, &unknown), Vec::<Value>::new());
    for query in ["?search=", "?search=+", "?search=a+b+c+d+e+f+g+h+i", "?blob=x", "?until=x"] {
        let status = client.get(&format!("/v1/runs{query}")).status;
        assert!(status == 400 || (query == "?blob=x" && status == 404), "{query}: {status}");
    }
    let long = format!("?search={}", "x".repeat(201));
    assert_eq!(client.get(&format!("/v1/runs{long}")).status, 400);
    // The command shows titles, and searches.
    let place = Command::new();
    let data = server.data_dir().to_str().unwrap();
    let url = format!("http://{}", server.address);
    for source in [["--data-dir", data], ["--server", &url]] {
        let list = ["runs", "list", "--search", "über 100%_x"];
        let shown = place.run(&[&list[..], &source].concat()).with(0).stdout;
        assert!(shown.contains("TITLE") && shown.contains("Über Teilung 100%_x"), "{shown}");
        assert!(!shown.contains("Writer"), "{shown}");
    }
}

#[test]
fn an_operator_can_keep_programs_out_of_records() {
    let server = TestServer::start(&["--set", "records.programs=false"]);
    let client = server.client();
    let code = "# canary-title\nprint('x')\nargs['n']";
    let made = client.run_with(code, json!({"args": {"n": "canary-value"}, "label": "named"}));
    let id = written(&client, &made);
    written(&client, &client.run(code));
    let refused = client.get(&format!("/v1/runs/{id}/content"));
    let said = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(refused.status == 404 && said.contains("`records.programs`"), "{said}");
    assert_eq!(titles(&client, ""), [Value::Null, json!("named")]);
    for name in ["records.db", "records.db-wal"] {
        let bytes = std::fs::read(server.data_dir().join(name)).unwrap();
        for canary in ["canary-title", "canary-value"] {
            let has = bytes.windows(canary.len()).any(|part| part == canary.as_bytes());
            assert!(!has, "{name} has {canary}");
        }
    }
}

#[test]
fn content_without_secrets() {
    const VALUE: &str = "canary-77e2-content-13ab";
    let skills = SkillFolder::new();
    let source = "import os\ndef main(args):\n    return {'told': os.environ['ACME_KEY']}\n";
    skills.action("acme.keys", "1.0.0", source);
    let manifest = std::fs::read_to_string(skills.at("acme.keys/skill.toml")).unwrap();
    let manifest = format!("{manifest}\n[permissions]\nsecrets = [\"ACME_KEY\"]\n");
    skills.file("acme.keys/skill.toml", manifest);
    let arguments = ["--skills", skills.path(), "--set", "records.max_program=1 KiB"];
    let server = TestServer::start_in(&arguments, &[("WARDIAN_SECRET_ACME_KEY", VALUE)]);
    let client = server.client();
    let cover = "*".repeat(VALUE.len());
    let call = |args: Value| {
        let params = json!({"name": "acme.keys", "args": args, "label": format!("of {VALUE}")});
        content(&client, &written(&client, &client.call("execute_skill", params).unwrap()))
    };
    let kept = call(json!({"copied": VALUE}));
    assert_eq!(kept["arguments"]["text"], json!({"copied": cover}).to_string());
    assert_eq!(kept["output"]["told"], cover);
    assert_eq!(titles(&client, ""), [json!(format!("of {cover}"))]);
    // The cut of long arguments could lie in a value.
    let kept = call(json!({"long": "x".repeat(1_010), "copied": VALUE}));
    assert_eq!(kept["arguments"], Value::Null);
    for name in ["records.db", "records.db-wal"] {
        let bytes = std::fs::read(server.data_dir().join(name)).unwrap();
        assert!(!bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()), "{name}");
    }
}

#[test]
fn an_operator_lists_the_runs_of_all_tenants_without_what_they_wrote() {
    let server =
        TestServer::start(&["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"]);
    let place = Command::new();
    let data = server.data_dir().to_str().unwrap();
    let key = |tenant: &str, scopes: &str| {
        let arguments = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
        let made = place.run(&[&arguments[..], &["--scopes", scopes]].concat()).with(0);
        let client = server.client().with_key(made.stdout.trim_end());
        eventually(PATIENCE, || (client.get("/v1/caller").status == 200).then_some(()));
        client
    };
    let (acme, beta) = (key("acme", "execute,code,admin"), key("beta", "execute,code"));
    written(&acme, &acme.run("# own title\n1"));
    let theirs =
        beta.run("# their title\nclass Chosen(Exception): pass\nraise Chosen('their message')");
    let id = written(&beta, &theirs);
    let list = |client: &Client, query: &str| client.get(&format!("/v1/runs{query}"));
    let all = list(&acme, "?tenant=*").json();
    let shown =
        |run: &Value| (run["tenant"].clone(), run["title"].clone(), run["error_type"].clone());
    assert_eq!(
        all["runs"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>(),
        [
            (json!("beta"), Value::Null, Value::Null),
            (json!("acme"), json!("own title"), Value::Null)
        ]
    );
    for (query, count) in [
        ("?tenant=beta", 1),
        ("?tenant=beta&outcome=exception", 1),
        ("?tenant=beta&search=run_code", 1),
        ("?tenant=beta&search=their", 0),
        ("?tenant=*&search=chosen", 0),
        ("?tenant=*&search=title", 1),
        ("?tenant=acme", 1),
        ("?tenant=nobody", 0),
    ] {
        let found = list(&acme, query).json();
        assert_eq!(found["runs"].as_array().unwrap().len(), count, "{query}: {found}");
    }
    // Their records stay theirs, and others list nothing of anybody.
    for path in ["", "/content", "/log"] {
        assert_eq!(acme.get(&format!("/v1/runs/{id}{path}")).status, 404, "{path}");
    }
    for query in ["?tenant=*", "?tenant=acme", "?tenant=beta"] {
        let refused = list(&beta, query);
        assert_eq!((refused.status, refused.error().1.as_str()), (403, "forbidden"), "{query}");
    }
    assert_eq!(list(&acme, "?tenant=UPPER").status, 400);
}

#[test]
fn the_command_lists_runs_of_all_tenants_of_a_server_for_administrators() {
    let server =
        TestServer::start(&["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"]);
    let place = Command::new();
    let data = server.data_dir().to_str().unwrap();
    let key = |tenant: &str, scopes: &str| {
        let arguments = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
        let made = place.run(&[&arguments[..], &["--scopes", scopes]].concat()).with(0);
        let name = format!("{tenant}.key");
        place.file(&name, &made.stdout);
        let client = server.client().with_key(made.stdout.trim_end());
        eventually(PATIENCE, || (client.get("/v1/caller").status == 200).then_some(()));
        (client, name)
    };
    let (_, admin) = key("acme", "execute,code,admin");
    let url = format!("http://{}", server.address);
    let list = |key: &str, more: &[&str]| {
        let of = ["runs", "list", "--server", &url, "--key-file", key];
        place.run(&[&of[..], more].concat())
    };
    // Nobody has runs.
    assert_eq!(list(&admin, &[]).with(0).stdout, "there are no such runs\n");
    let (beta, users) = key("beta", "execute,code");
    let (gamma, _) = key("gamma", "code");
    let theirs = written(&beta, &beta.run("# their title\n1"));
    assert_eq!(
        list(&admin, &[]).with(0).stdout,
        "tenant `acme` has no such runs; tenant `beta` does: `--tenant beta`\n"
    );
    let newest = written(&gamma, &gamma.run("2"));
    let several = "tenant `acme` has no such runs; tenants `beta` and `gamma` do: `--tenant \
        beta`, or `--all-tenants`\n";
    assert_eq!(list(&admin, &[]).with(0).stdout, several);
    let all = list(&admin, &["--all-tenants"]).with(0).stdout;
    let rows: Vec<&str> = all.lines().collect();
    assert!(rows[0].starts_with("TENANT"), "{all}");
    assert!(rows[1].starts_with("gamma") && rows[1].contains(&newest), "{all}");
    assert!(rows[2].starts_with("beta") && rows[2].contains(&theirs), "{all}");
    assert!(!all.contains("their title") && rows.len() == 3, "{all}");
    let told = list(&admin, &["--all-tenants", "--json", "--limit", "1"]).with(0).json();
    assert_eq!((told.as_array().unwrap().len(), &told[0]["tenant"]), (1, &json!("gamma")));
    let one = list(&admin, &["--tenant", "beta", "--json"]).with(0).json();
    assert_eq!((one.as_array().unwrap().len(), &one[0]["run_id"]), (1, &json!(theirs)));
    // Others see their own, learn of nobody, and are told why.
    assert!(list(&users, &[]).with(0).stdout.contains("their title"));
    let none = list(&users, &["--outcome", "timeout"]).with(0).stdout;
    assert_eq!(none, "there are no such runs\n");
    for choice in [&["--all-tenants"][..], &["--tenant", "acme"], &["--tenant", "beta"]] {
        let refused = list(&users, choice).with(2).stderr;
        assert!(refused.contains("the caller lacks the scope `admin`"), "{refused}");
    }
    let (_, only_admin) = key("ops", "admin");
    let refused = list(&only_admin, &[]).with(2).stderr;
    assert!(
        refused.contains("lists those of others: `--all-tenants`, or `--tenant TENANT`"),
        "{refused}"
    );
    assert!(list(&only_admin, &["--tenant", "beta"]).with(0).stdout.contains(&theirs));
    let both = list(&admin, &["--all-tenants", "--tenant", "beta"]).with(2).stderr;
    assert!(both.contains("cannot be used with"), "{both}");
}
