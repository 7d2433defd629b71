//! Skills as tools of their own, and the extension for skills.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::mcp::speaker::{ask, call};
use crate::support::{SkillFolder, TestServer};

fn skills() -> SkillFolder {
    let skills = SkillFolder::new();
    skills.action(
        "acme.sum-up",
        "1.0.0",
        "def main(args):\n    return {'sum': args['a'] + args['b']}\n",
    );
    let manifest = "name = \"acme.sum-up\"\nversion = \"1.0.0\"\ndescription = \"Adds two numbers.\"\nkind = \"action\"\n\
        [runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\nexport = \"main\"\n\
        [inputs]\na = { type = \"integer\", required = true, description = \"One\" }\nb = { type = \"integer\", default = 2 }\n";
    skills.file("acme.sum-up/skill.toml", manifest);
    skills.file("acme.sum-up/notes/a b.txt", "with a space");
    skills.instruction("acme.read-me", "0.1.0");
    skills
}

fn start(skills: &SkillFolder, more: &[&str]) -> TestServer {
    TestServer::start(
        &[&["--skills", skills.path(), "--set", "skills.bundled=false"], more].concat(),
    )
}

#[test]
fn a_skill_is_a_tool_if_the_operator_wants_it() {
    let skills = skills();
    let server = start(&skills, &["--skills-as-tools"]);
    let list = ask(&server, "tools/list", json!({}));
    let tools = list.result()["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 10, "the instruction skills are none: {list:?}");
    let tool = &tools[9];
    assert_eq!(
        (&tool["name"], &tool["description"]),
        (&json!("acme_sum-up"), &json!("Adds two numbers."))
    );
    assert_eq!(tool["inputSchema"]["required"], json!(["a"]));
    assert_eq!(tool["inputSchema"]["properties"]["b"]["default"], 2);
    assert_eq!(tool["annotations"]["openWorldHint"], false);
    let result = call(&server, "acme_sum-up", json!({"a": 40}));
    assert_eq!(result["structuredContent"]["output"], json!({"sum": 42}), "{result}");
    let wrong = call(&server, "acme_sum-up", json!({"a": "x"}));
    let known = server
        .client()
        .refusal("execute_skill", json!({"name": "acme.sum-up", "args": {"a": "x"}}));
    assert_eq!(
        (&wrong["isError"], &wrong["content"][0]["text"]),
        (&json!(true), &json!(known.message))
    );
    for arguments in [json!([]), json!(7)] {
        let answer =
            ask(&server, "tools/call", json!({"name": "acme_sum-up", "arguments": arguments}));
        let response = answer.response();
        assert!(
            response["error"]["code"] == -32602 || response["result"]["isError"] == true,
            "{answer:?}"
        );
    }
    for unknown in ["acme.sum-up", "acme_read-me_x", "acme_sum_up"] {
        let answer = ask(&server, "tools/call", json!({"name": unknown, "arguments": {}}));
        let response = answer.response();
        assert!(
            response.get("error").is_some() || response["result"]["isError"] == true,
            "{answer:?}"
        );
    }
    let server = start(&skills, &[]);
    let answer = ask(&server, "tools/call", json!({"name": "acme_sum-up", "arguments": {"a": 1}}));
    assert_eq!(answer.response()["error"]["code"], -32602);
}

/// All entries of a list, page by page.
fn all(server: &TestServer, method: &str, list: &str, params: Value) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let mut params = params.clone();
        if let Some(cursor) = cursor {
            params["cursor"] = cursor;
        }
        let page = ask(server, method, params);
        found.extend(page.result()[list].as_array().unwrap().clone());
        cursor = page.result().get("nextCursor").cloned();
        if cursor.is_none() {
            return found;
        }
    }
}

#[test]
fn each_file_of_a_skill_has_the_digest_of_its_bytes() {
    let server = start(&skills(), &[]);
    let list = all(&server, "skills/list", "skills", json!({}));
    let names: BTreeMap<&str, &Value> =
        list.iter().map(|skill| (skill["frontmatter"]["name"].as_str().unwrap(), skill)).collect();
    let skill = names["acme-sum-up"];
    assert_eq!(skill["uri"], "skill://acme.sum-up/acme-sum-up/SKILL.md");
    assert_eq!(skill["frontmatter"]["description"], "Adds two numbers.");
    assert_eq!(
        skill["frontmatter"]["short_description"], "Serves a test.",
        "as the author wrote it"
    );
    let files = skill["resources"].as_array().unwrap();
    assert_eq!(files.len(), 4, "{skill}");
    for file in files {
        let read = ask(&server, "resources/read", json!({"uri": file["uri"]}));
        let text = read.result()["contents"][0]["text"].as_str().unwrap();
        let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(text));
        assert_eq!(file["digest"], format!("sha256:{digest}"), "{file}");
        assert_eq!(file["size"], text.len(), "{file}");
    }
    let document = ask(&server, "resources/read", json!({"uri": skill["uri"]}));
    let document = &document.result()["contents"][0];
    assert_eq!(document["mimeType"], "text/markdown");
    let text = document["text"].as_str().unwrap();
    assert!(
        text.starts_with("---\nname: \"acme-sum-up\"\ndescription: \"Adds two numbers.\"\n"),
        "{text}"
    );
    assert!(text.contains("# acme.sum-up"), "{text}");
    let one = ask(&server, "skills/get", json!({"uri": skill["uri"]}));
    assert_eq!(one.result()["skill"], *skill);
    let other = ask(&server, "skills/get", json!({"uri": "skill://no.such/no-such/SKILL.md"}));
    assert!(other.response()["error"].is_object());
}

#[test]
fn folders_of_skills_are_read() {
    let server = start(&skills(), &[]);
    let read = |uri: &str| ask(&server, "resources/directory/read", json!({"uri": uri}));
    let root = read("skill://acme.sum-up/acme-sum-up/");
    let entries: Vec<(&str, &str)> = root.result()["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["name"].as_str().unwrap(), entry["mimeType"].as_str().unwrap()))
        .collect();
    assert!(entries.contains(&("notes", "inode/directory")), "{entries:?}");
    assert!(entries.contains(&("acme-sum-up", "text/markdown")), "{entries:?}");
    let notes = read("skill://acme.sum-up/acme-sum-up/notes");
    assert_eq!(
        notes.result()["resources"][0]["uri"],
        "skill://acme.sum-up/acme-sum-up/notes/a%20b.txt"
    );
    for no_folder in [
        "skill://acme.sum-up/acme-sum-up/SKILL.md",
        "skill://acme.sum-up/acme-sum-up/x",
        "blob:x",
        "skill://acme.sum-up/acme-sum-up/../",
    ] {
        assert_eq!(read(no_folder).response()["error"]["code"], -32602, "{no_folder}");
    }
}
