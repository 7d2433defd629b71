//! `skills.lock`, `--locked`, and skills that calls name with their digest.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Command, SkillFolder, TestServer, contained, output};

const SOURCE: &str = "def main(args):\n    return {'n': 1}\n";

/// A place with two skills in `skills`, and their lock.
fn locked() -> (Command, SkillFolder) {
    let (place, skills) = (Command::new(), SkillFolder::new());
    skills.action("acme.b", "0.2.0", SOURCE).action("acme.a", "0.1.0", SOURCE);
    place.run(&["--skills", skills.path(), "skills", "lock"]).with(0);
    (place, skills)
}

/// The digest of a skill in the lock.
fn digest(place: &Command, skill: &str) -> String {
    let lock = fs::read_to_string(place.folder().join("skills.lock")).unwrap();
    let (_, after) = lock.split_once(&format!("name = \"{skill}\"")).unwrap();
    after.split("digest = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
}

#[test]
fn a_lock_is_sorted_and_the_same_on_every_machine() {
    let (place, skills) = locked();
    let text = fs::read_to_string(place.folder().join("skills.lock")).unwrap();
    assert!(text.starts_with("# Written by `wardian skills lock`"), "{text}");
    assert!(text.contains("\nformat = 1\n"), "{text}");
    let wanted = ["name = \"acme.a\"\nversion = \"0.1.0\"\ndigest = \"", "name = \"acme.b\""];
    assert!(contained(&text, wanted).is_empty(), "{text}");
    assert!(text.find("acme.a") < text.find("acme.b"), "{text}");
    assert!(!text.contains("hello.world"), "those of the program are no part of it: {text}");
    let again = ["--skills", skills.path(), "skills", "lock", "--file", "other.lock", "--json"];
    let listed = place.run(&again).with(0).json();
    assert_eq!(listed["skill"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(place.folder().join("other.lock")).unwrap(), text);
    // Another version of a skill is refused, and the lock stays as it was.
    skills.file("acme.a@0.3.0/x", "");
    skills.remove("acme.a@0.3.0");
    fs::rename(skills.at("acme.a"), skills.at("acme.a@0.1.0")).unwrap();
    skills.action("acme.a", "0.3.0", SOURCE);
    let twice = place.run(&["--skills", skills.path(), "skills", "lock"]).with(2);
    assert!(twice.stderr.contains("`acme.a` appears twice"), "{}", twice.stderr);
    assert_eq!(fs::read_to_string(place.folder().join("skills.lock")).unwrap(), text);
    skills.file("acme.bad/skill.toml", "name = 7");
    let bad = place.run(&["--skills", skills.path(), "skills", "lock"]).with(2);
    assert!(bad.stderr.contains("folder `acme.bad` has errors"), "{}", bad.stderr);
}

#[test]
fn locked_commands_refuse_drift_in_a_line_and_run_nothing() {
    let (place, skills) = locked();
    let exec = |code: i32| {
        let ended =
            place.run(&["--skills", skills.path(), "exec", "acme.a", "--locked"]).with(code);
        assert_eq!(ended.stdout.contains("\"n\": 1"), code == 0, "{}", ended.stdout);
        ended.stderr
    };
    exec(0);
    let run = ["--skills", skills.path(), "run", "-c", "print(1)", "--locked=skills.lock"];
    place.run(&run).with(0);
    let before = digest(&place, "acme.a");
    skills.action("acme.a", "0.1.0", "def main(args):\n    return {'n': 2}\n");
    let said = exec(2);
    let wanted = format!("error: `acme.a` 0.1.0 is locked with the digest {before}, found ");
    assert!(said.contains(&wanted), "{said}");
    skills.action("acme.a", "0.1.1", SOURCE);
    assert!(exec(2).contains("`acme.a` is locked as 0.1.0, found 0.1.1"));
    skills.action("acme.a", "0.1.0", SOURCE);
    skills.action("acme.c", "1.0.0", SOURCE);
    assert!(exec(2).contains("`acme.c` 1.0.0 is not in the lock file"));
    let refused = place.run(&run).with(2);
    assert!(!refused.stdout.contains('1'), "{}", refused.stdout);
    skills.remove("acme.c");
    skills.remove("acme.b");
    assert!(exec(2).contains("`acme.b` 0.2.0 is in the lock file but does not exist"));
    for (text, wanted) in
        [("format = 9\n", "skills.lock: has format 9"), ("format = 1\nx", "skills.lock: line 2: ")]
    {
        place.file("skills.lock", text);
        assert!(exec(2).contains(wanted), "{text}");
    }
    fs::remove_file(place.folder().join("skills.lock")).unwrap();
    assert!(exec(2).contains("skills.lock: No such file"));
}

#[test]
fn locked_tests_are_those_of_the_lock() {
    let (place, skills) = locked();
    let case = r#"{"expect": {"status": "completed", "output": {"n": 1}}}"#;
    skills.file("acme.a/resources/tests/one.json", case);
    let folder = skills.at("acme.a").display().to_string();
    let changed = place.run(&["test", &folder, "--locked"]).with(2);
    assert!(
        changed.stderr.contains("`acme.a` 0.1.0 is locked with the digest"),
        "{}",
        changed.stderr
    );
    place.run(&["--skills", skills.path(), "skills", "lock"]).with(0);
    let good = place.run(&["test", &folder, "--locked"]).with(0);
    assert!(good.stdout.contains("1 passed, 0 failed"), "{}", good.stdout);
}

#[test]
fn calls_name_skills_with_their_digests() {
    let (place, skills) = locked();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let (good, other) = (digest(&place, "acme.a"), digest(&place, "acme.b"));
    for name in [
        "acme.a".to_owned(),
        "acme.a@0.1.0".to_owned(),
        format!("acme.a@0.1.0#{good}"),
        format!("acme.a#{good}"),
    ] {
        assert_eq!(*output(&client.execute(&name, json!({}))), json!({"n": 1}), "{name}");
        let code = "import skills.acme.a.code.main\n1";
        client.run_with(code, json!({"mount_skills": [name]}));
    }
    for (name, wanted) in [
        (
            format!("acme.a@0.1.0#{other}"),
            format!("`acme.a` 0.1.0 has the digest {good}, not {other}"),
        ),
        (format!("acme.a@0.2.0#{good}"), "has no version 0.2.0".to_owned()),
        (format!("acme.c@0.1.0#{good}"), "no skill is called `acme.c`".to_owned()),
        ("acme.a@0.1.0#".to_owned(), "64 lowercase hexadecimal digits".to_owned()),
        (format!("acme.a@0.1.0#{good}0"), "64 lowercase hexadecimal digits".to_owned()),
        (format!("acme.a@#{good}"), "version".to_owned()),
    ] {
        let calls: [(&str, Value); 2] = [
            ("execute_skill", json!({"name": name})),
            ("run_code", json!({"language": "python", "code": "1", "mount_skills": [name]})),
        ];
        for (method, params) in calls {
            let refused = client.refusal(method, params);
            assert!(refused.message.contains(&wanted), "{method} {name}: {}", refused.message);
        }
    }
    let both = json!({"name": "acme.a@0.1.0", "version": "0.1.0"});
    assert!(client.refusal("execute_skill", both).message.contains("skill name"));
}

#[test]
fn a_locked_server_begins_with_the_skills_of_the_lock_and_follows_no_changes() {
    let (place, skills) = locked();
    let lock = place.folder().join("skills.lock").display().to_string();
    let server = TestServer::start(&["--skills", skills.path(), &format!("--locked={lock}")]);
    skills.action("acme.a", "0.1.0", "def main(args):\n    return {'n': 2}\n");
    let client = server.client();
    assert_eq!(*output(&client.execute("acme.a", json!({}))), json!({"n": 1}));
    let arguments = ["--skills", skills.path(), "serve", "--listen", "127.0.0.1:0", "--locked"];
    let refused = place.run(&arguments).with(2);
    assert!(refused.stderr.contains("is locked with the digest"), "{}", refused.stderr);
}
