//! Discovery: `list_skills`, `describe_skill`, `read_skill_file` and the guide.

use std::fs;
use std::time::Duration;

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::support::{Client, SkillFolder, TestServer, eventually, repository};

/// Longer than the server takes to look at the disk again.
const SOON: Duration = Duration::from_secs(30);

fn client() -> Client {
    TestServer::shared().client()
}

fn names(listed: &Value) -> Vec<&str> {
    let skills = listed["skills"].as_array().unwrap();
    skills.iter().map(|skill| skill["name"].as_str().unwrap()).collect()
}

fn list(client: &Client, params: Value) -> Value {
    client.call("list_skills", params).unwrap()
}

/// All names of a list, page by page.
fn all_names(client: &Client, params: &Value) -> Vec<String> {
    let (mut all, mut params) = (Vec::new(), params.clone());
    loop {
        let page = list(client, params.clone());
        all.extend(names(&page).into_iter().map(str::to_owned));
        match &page["next_cursor"] {
            Value::Null => return all,
            cursor => params["cursor"] = cursor.clone(),
        }
    }
}

#[test]
fn a_list_is_sorted_and_names_the_latest_version_of_each_skill() {
    let listed = list(&client(), json!({}));
    assert_eq!(listed["next_cursor"], Value::Null);
    let names = names(&listed);
    assert!(names.is_sorted(), "{names:?}");
    for expected in ["acme-labs.tool", "acme.guide", "data.csv.profile", "skills.protocol.guide"] {
        assert!(names.contains(&expected), "{expected} is not in {names:?}");
    }
    let report: Vec<&Value> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|skill| skill["name"] == "acme.sales.report")
        .collect();
    // 1.0.0-beta.1 is a pre-release: it is only the latest where there is nothing else.
    assert_eq!(report, [&json!({"name": "acme.sales.report", "version": "0.2.0"})]);
}

#[test]
fn a_summary_says_what_the_manifest_says() {
    let listed = list(&client(), json!({"detail": "summary", "namespace": "acme"}));
    let of = |name: &str| {
        let skills = listed["skills"].as_array().unwrap();
        skills.iter().find(|skill| skill["name"] == name).unwrap().clone()
    };
    assert_eq!(
        of("acme.sales.report"),
        json!({
            "name": "acme.sales.report", "version": "0.2.0",
            "description": "Adds up sales, version 0.2.0.", "namespace": "acme",
            "kind": "action", "tags": ["sales", "report"],
        })
    );
    assert_eq!(of("acme.guide")["kind"], "instruction");
    let plain = json!({
        "name": "acme.echo", "version": "0.1.0", "kind": "action",
        "description": "Returns what it was called with and what it sees.",
    });
    assert_eq!(of("acme.echo"), plain, "what a manifest does not say is not made up");
}

#[test]
fn a_namespace_is_the_field_or_the_beginning_of_a_name() {
    let client = client();
    let of = |namespace: &str| list(&client, json!({"namespace": namespace}));
    assert_eq!(
        names(&of("acme.sales")),
        ["acme.sales.forecast", "acme.sales.report", "beta.data"],
        "`beta.data` says that it belongs to acme.sales"
    );
    assert!(names(&of("acme")).contains(&"beta.data"));
    assert!(!names(&of("acme")).contains(&"acme-labs.tool"), "a namespace ends at a dot");
    assert_eq!(names(&of("experiments")), ["acme-labs.tool"]);
    assert_eq!(names(&of("acme.sales.report")), ["acme.sales.report"]);
    assert!(names(&of("acme.sales.rep")).is_empty());
    assert!(names(&of("no.such.namespace")).is_empty());
}

#[test]
fn pages_are_the_list_cut_into_pieces() {
    let client = client();
    let whole = all_names(&client, &json!({}));
    for limit in [1, 2, 3, 5, 500] {
        assert_eq!(all_names(&client, &json!({"limit": limit})), whole, "limit {limit}");
    }
    let first = list(&client, json!({"limit": 2, "detail": "summary"}));
    assert_eq!(first["skills"].as_array().unwrap().len(), 2);
    assert!(first["skills"][0]["description"].is_string());
    let all = whole.len();
    let last = list(&client, json!({"limit": all}));
    assert_eq!(last["next_cursor"], Value::Null, "a page that is full may still be the last");
    let within = all_names(&client, &json!({"limit": 1, "namespace": "acme.sales"}));
    assert_eq!(within, ["acme.sales.forecast", "acme.sales.report", "beta.data"]);
}

#[test]
fn a_cursor_survives_skills_that_come_and_go() {
    let skills = SkillFolder::new();
    for name in ["a.a", "a.c", "a.e", "a.g"] {
        skills.instruction(name, "1.0.0");
    }
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let first = list(&client, json!({"namespace": "a", "limit": 2}));
    assert_eq!(names(&first), ["a.a", "a.c"]);
    skills.remove("a.c");
    skills.remove("a.e");
    skills.instruction("a.b", "1.0.0").instruction("a.f", "1.0.0");
    let params = json!({"namespace": "a", "limit": 2, "cursor": first["next_cursor"]});
    let second = eventually(SOON, || {
        let page = list(&client, params.clone());
        (names(&page) == ["a.f", "a.g"]).then_some(page)
    });
    assert_eq!(second["next_cursor"], Value::Null, "{second}");
}

#[test]
fn a_cursor_is_only_good_where_it_came_from() {
    let client = client();
    let page = list(&client, json!({"namespace": "acme", "limit": 1}));
    let cursor = page["next_cursor"].as_str().unwrap();
    let flipped: String = cursor.chars().rev().collect();
    for params in [
        json!({"cursor": "nonsense"}),
        json!({"cursor": ""}),
        json!({"cursor": flipped, "namespace": "acme"}),
        json!({"cursor": format!("{cursor}A"), "namespace": "acme"}),
        json!({"cursor": cursor[1..], "namespace": "acme"}),
        json!({"cursor": cursor}),
        json!({"cursor": cursor, "namespace": "acme.sales"}),
    ] {
        let error = client.refusal("list_skills", params.clone());
        assert_eq!((error.code, error.kind.as_str()), (-32602, "invalid_params"), "{params}");
        assert_eq!(error.data["parameter"], "cursor", "{error:?}");
    }
    // How many skills a page has and what it says of them may change from page to page.
    let next = json!({"cursor": cursor, "namespace": "acme", "limit": 3, "detail": "summary"});
    assert_eq!(names(&list(&client, next)).len(), 3);
}

#[test]
fn a_description_has_what_was_asked_for() {
    let client = client();
    let describe = |detail: Value| {
        let mut params = json!({"name": "acme.sales.report"});
        params["detail"] = detail;
        client.call("describe_skill", params).unwrap()["skill"].take()
    };
    let document = repository("tests/it/skills/acme.sales.report@0.2.0/SKILL.md");
    let document = fs::read_to_string(document).unwrap();
    let manifest = json!({
        "name": "acme.sales.report", "version": "0.2.0",
        "description": "Adds up sales, version 0.2.0.", "kind": "action",
        "namespace": "acme", "tags": ["sales", "report"],
        "runtime": {"language": "python", "entrypoint": "code/main.py", "export": "main"},
        "permissions": {"network": ["https://api.acme.com/v1/"], "secrets": ["ACME_KEY"]},
    });
    let frontmatter = json!({
        "name": "Sales Report", "short_description": "Adds up sales.", "tags": ["sales", "report"],
    });
    assert_eq!(describe(json!("manifest")), json!({"manifest": manifest}));
    let summary = json!({"manifest": manifest, "skill_md_frontmatter": frontmatter});
    assert_eq!(describe(json!("summary")), summary);
    assert_eq!(describe(Value::Null), summary, "a summary is the default");
    let mut full = summary;
    full["skill_md_content"] = document.into();
    full["input_schema"] = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": {},
    });
    assert_eq!(describe(json!("full")), full);
}

#[test]
fn inputs_are_described_as_the_manifest_has_them() {
    let described = client().call("describe_skill", json!({"name": "acme.inputs"})).unwrap();
    let inputs = &described["skill"]["manifest"]["inputs"];
    let text = json!({"type": "string", "required": true, "description": "Any text"});
    assert_eq!(inputs["text"], text);
    let mode = json!({"type": "string", "enum": ["fast", "exact"], "default": "fast"});
    assert_eq!(inputs["mode"], mode);
    let frontmatter = client().call("describe_skill", json!({"name": "acme.guide"})).unwrap();
    let audience = &frontmatter["skill"]["skill_md_frontmatter"]["audience"];
    assert_eq!(audience, "everybody", "keys that nobody knows are kept");
}

#[test]
fn every_version_can_be_described_and_read() {
    let client = client();
    for version in ["0.1.0", "0.2.0", "1.0.0-beta.1"] {
        let params = json!({"name": "acme.sales.report", "version": version});
        let described = client.call("describe_skill", params).unwrap();
        assert_eq!(described["skill"]["manifest"]["version"], version);
        let params = json!({"name": "acme.sales.report", "version": version, "path": "SKILL.md"});
        let read = client.call("read_skill_file", params).unwrap();
        let said = format!("This is version {version}.");
        assert!(read["content"].as_str().unwrap().contains(&said), "{read}");
    }
    let latest = json!({"name": "acme.sales.report", "path": "SKILL.md"});
    let read = client.call("read_skill_file", latest).unwrap();
    assert!(read["content"].as_str().unwrap().contains("This is version 0.2.0."), "{read}");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let client = client();
    for (method, params, kind, hint) in [
        (
            "describe_skill",
            json!({"name": "acme.sales.reports"}),
            "skill_not_found",
            "did you mean `acme.sales.report`?",
        ),
        ("describe_skill", json!({"name": "nobody"}), "skill_not_found", "`nobody`"),
        (
            "describe_skill",
            json!({"name": "acme.sales.report", "version": "3.0.0"}),
            "version_not_found",
            "`1.0.0-beta.1`, `0.2.0` and `0.1.0`",
        ),
        ("read_skill_file", json!({"name": "no.body", "path": "x"}), "skill_not_found", "no.body"),
        (
            "read_skill_file",
            json!({"name": "acme.guide", "version": "9.9.9", "path": "SKILL.md"}),
            "version_not_found",
            "`2.0.0`",
        ),
        (
            "read_skill_file",
            json!({"name": "acme.guide", "path": "resources/rule.md"}),
            "file_not_found",
            "did you mean `resources/rules.md`?",
        ),
        (
            "read_skill_file",
            json!({"name": "acme.guide", "path": "resources"}),
            "file_not_found",
            "resources",
        ),
    ] {
        let error = client.refusal(method, params.clone());
        assert_eq!((error.code, error.kind.as_str()), (-32602, kind), "{params}");
        assert!(error.message.contains(hint), "{}", error.message);
        assert_eq!(error.data.as_object().unwrap().len(), 1, "only the kind: {error:?}");
    }
}

#[test]
fn names_and_versions_that_cannot_be_are_told_so() {
    let client = client();
    for name in ["", "..", "Acme", "a/b", "a..b", "a_b", "acme.sales.report\n", "é", "a\0"] {
        for (method, more) in
            [("describe_skill", json!({})), ("read_skill_file", json!({"path": "SKILL.md"}))]
        {
            let mut params = more;
            params["name"] = name.into();
            let error = client.refusal(method, params);
            assert_eq!((error.code, error.kind.as_str()), (-32602, "invalid_params"), "{name:?}");
        }
    }
    for version in ["", "1", "1.0", "latest", "v0.2.0", "0.2.0+build", "../0.2.0", "0.2.0 "] {
        let params = json!({"name": "acme.sales.report", "version": version});
        let error = client.refusal("describe_skill", params);
        assert_eq!((error.code, error.kind.as_str()), (-32602, "invalid_params"), "{version:?}");
    }
}

#[test]
fn every_file_of_a_skill_is_read_as_it_is() {
    let client = client();
    let root = repository("tests/it/skills/acme.sales.report@0.2.0");
    for path in [
        "skill.toml",
        "SKILL.md",
        "code/main.py",
        "resources/notes.md",
        "resources/empty.txt",
        "resources/deep/deeper/table.csv",
    ] {
        let params = json!({"name": "acme.sales.report", "path": path});
        let read = client.call("read_skill_file", params).unwrap();
        let content = fs::read_to_string(root.join(path)).unwrap();
        assert_eq!(read, json!({"content": content}), "{path}");
    }
}

#[test]
fn a_file_that_is_no_text_is_read_as_base64() {
    let params = json!({"name": "acme.sales.report", "path": "resources/dot.png"});
    let read = client().call("read_skill_file", params).unwrap();
    assert_eq!(read["encoding"], "base64");
    let bytes = BASE64.decode(read["content"].as_str().unwrap().as_bytes()).unwrap();
    let file = repository("tests/it/skills/acme.sales.report@0.2.0/resources/dot.png");
    assert_eq!(bytes, fs::read(file).unwrap());
}

#[test]
fn no_path_leads_out_of_a_skill() {
    let skills = SkillFolder::new();
    skills.instruction("a.b", "1.0.0").instruction("a.b.secret", "1.0.0");
    skills.file("outside.txt", "outside").file("a.b/.hidden", "hidden");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let absolute = skills.at("outside.txt");
    for path in [
        "../outside.txt",
        "../a.b.secret/SKILL.md",
        "resources/../../outside.txt",
        "./SKILL.md",
        "SKILL.md/",
        "SKILL.md/.",
        "//SKILL.md",
        "..",
        ".",
        "",
        "/etc/passwd",
        absolute.to_str().unwrap(),
        "..\\outside.txt",
        "%2e%2e/outside.txt",
        "SKILL.md\0.txt",
        "\u{2e}\u{2e}/outside.txt",
        "a.b/SKILL.md",
        ".hidden",
        "skill.md",
    ] {
        let error = client.refusal("read_skill_file", json!({"name": "a.b", "path": path}));
        assert_eq!(error.code, -32602, "{path:?}");
        match error.kind.as_str() {
            "file_not_found" => {}
            "invalid_params" => assert_eq!(error.data["parameter"], "path", "{error:?}"),
            _ => panic!("{path:?}: {error:?}"),
        }
        assert!(!error.message.contains(skills.path()) || path.contains(skills.path()));
    }
}

#[test]
fn the_guide_is_there_and_cannot_be_replaced() {
    let skills = SkillFolder::new();
    skills.instruction("skills.protocol.guide", "9.0.0").instruction("a.b", "1.0.0");
    let server = TestServer::start(&["--skills", skills.path(), "--set", "skills.bundled=false"]);
    let client = server.client();
    assert_eq!(all_names(&client, &json!({})), ["a.b", "skills.protocol.guide"]);
    let guide = client.call("load_skills_protocol_guide", json!({})).unwrap();
    assert_eq!(guide.as_object().unwrap().len(), 1);
    let content = guide["content"].as_str().unwrap();
    assert!(content.starts_with("# Skills Protocol Overview"), "{content:.80}");
    let params = json!({"name": "skills.protocol.guide", "path": "SKILL.md"});
    let document = client.call("read_skill_file", params).unwrap();
    let document = document["content"].as_str().unwrap();
    assert!(document.starts_with("---\n") && document.ends_with(content));
    let described =
        client.call("describe_skill", json!({"name": "skills.protocol.guide"})).unwrap();
    assert_eq!(described["skill"]["manifest"]["version"], "0.1.0");
    assert!(server.log().contains("is part of the server"), "{}", server.log());
}

#[test]
fn files_that_the_guide_names_are_there() {
    let client = client();
    for path in ["resources/workflow.md", "resources/best-practices.md"] {
        let params = json!({"name": "skills.protocol.guide", "path": path});
        let read = client.call("read_skill_file", params).unwrap();
        assert!(read["content"].as_str().unwrap().starts_with('#'), "{path}");
    }
}

#[test]
fn skills_that_come_change_and_go_are_seen_without_a_restart() {
    let skills = SkillFolder::new();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let run =
        |version: &str| client.call("execute_skill", json!({"name": "a.b", "version": version}));
    assert_eq!(client.refusal("execute_skill", json!({"name": "a.b"})).kind, "skill_not_found");

    skills.action("a.b", "1.0.0", "def main(args):\n    return 'first'\n");
    let first = eventually(SOON, || run("1.0.0").ok());
    assert_eq!(first["output"]["result"], "first");

    skills.file("a.b/code/main.py", "def main(args):\n    return 'second'\n");
    eventually(SOON, || (run("1.0.0").unwrap()["output"]["result"] == "second").then_some(()));

    skills.action("a.b@2.0.0", "2.0.0", "def main(args):\n    return 'third'\n");
    let third = eventually(SOON, || run("2.0.0").ok());
    assert_eq!(third["output"]["result"], "third");
    let latest = client.call("execute_skill", json!({"name": "a.b"})).unwrap();
    assert_eq!(latest["output"]["result"], "third", "the highest version is the latest");

    skills.remove("a.b@2.0.0");
    eventually(SOON, || run("2.0.0").err().filter(|error| error.kind == "version_not_found"));
    skills.remove("a.b");
    eventually(SOON, || run("1.0.0").err().filter(|error| error.kind == "skill_not_found"));
    assert!(all_names(&client, &json!({"namespace": "a"})).is_empty());
}

#[test]
fn a_bad_skill_never_hides_the_others() {
    let skills = SkillFolder::new();
    skills.action("a.good", "1.0.0", "def main(args):\n    return 1\n");
    skills.file("a.broken/skill.toml", "name = [");
    skills.file("a.empty/notes.txt", "no manifest");
    skills.action("a.other", "1.0.0", "").file("a.other/skill.toml", "name = \"a.good\"\n");
    skills.instruction("A.Upper", "1.0.0").file("loose-file", "x").file(".git/config", "x");
    skills.action("a.twin", "1.0.0", "").action("a.twin@1.0.0", "1.0.0", "");
    let server = TestServer::start(&["--skills", skills.path(), "--set", "skills.bundled=false"]);
    let client = server.client();
    let listed = all_names(&client, &json!({}));
    assert_eq!(listed, ["a.good", "a.twin", "skills.protocol.guide"]);
    assert_eq!(client.execute("a.good", json!({}))["output"]["result"], 1);
    for folder in ["a.broken", "a.empty", "a.other", "A.Upper"] {
        assert!(server.log().contains(folder), "{folder} is not in the log:\n{}", server.log());
    }
    // A good skill that turns bad is withdrawn; the others stay.
    skills.file("a.twin/skill.toml", "version = 1").remove("a.twin@1.0.0");
    eventually(SOON, || (all_names(&client, &json!({})).len() == 2).then_some(()));
    skills.remove("a.broken");
    skills.instruction("a.broken", "1.0.0");
    eventually(SOON, || all_names(&client, &json!({})).contains(&"a.broken".into()).then_some(()));
}

#[test]
fn earlier_roots_win() {
    let (first, second) = (SkillFolder::new(), SkillFolder::new());
    first.action("a.b", "1.0.0", "def main(args):\n    return 'first'\n");
    second.action("a.b", "1.0.0", "def main(args):\n    return 'second'\n");
    second.action("a.c", "1.0.0", "def main(args):\n    return 'only'\n");
    let server = TestServer::start(&["--skills", first.path(), "--skills", second.path()]);
    let client = server.client();
    assert_eq!(client.execute("a.b", json!({}))["output"]["result"], "first");
    assert_eq!(client.execute("a.c", json!({}))["output"]["result"], "only");
}

#[test]
fn links_in_a_skill_are_refused() {
    let skills = SkillFolder::new();
    skills.instruction("a.b", "1.0.0").instruction("a.c", "1.0.0").file("secret.txt", "secret");
    std::os::unix::fs::symlink(skills.at("secret.txt"), skills.at("a.b/resources.txt")).unwrap();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    assert_eq!(all_names(&client, &json!({"namespace": "a"})), ["a.c"]);
    let params = json!({"name": "a.b", "path": "resources.txt"});
    assert_eq!(client.refusal("read_skill_file", params).kind, "skill_not_found");
}

#[test]
fn an_agent_skill_is_served_as_instructions() {
    let skills = SkillFolder::new();
    let document = "---\nname: pdf-forms\ndescription: Fill in forms.\nmetadata:\n  version: 1.2.0\n---\n\n# Forms\n";
    skills.file("pdf-forms/SKILL.md", document).file("pdf-forms/notes/fill.txt", "print(1)\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let described = client.call("describe_skill", json!({"name": "pdf-forms"})).unwrap();
    let manifest = &described["skill"]["manifest"];
    assert_eq!(manifest["kind"], "instruction", "{manifest}");
    assert_eq!(manifest["description"], "Fill in forms.", "{manifest}");
    let params = json!({"name": "pdf-forms", "path": "notes/fill.txt"});
    assert_eq!(client.call("read_skill_file", params).unwrap()["content"], "print(1)\n");
    assert_eq!(
        client.refusal("execute_skill", json!({"name": "pdf-forms"})).kind,
        "not_executable"
    );
}
