//! `wardian test` with the cases that skills bring along, and with recorded answers of servers.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Command, Watched, contained, repository};

#[test]
fn bundled_skills_pass_the_tests_that_they_bring_along() {
    let place = Command::new();
    let folders: Vec<String> = fs::read_dir(repository("skills"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("resources/tests").is_dir())
        .map(|folder| folder.display().to_string())
        .collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let options = ["test", "--no-cache", "--json"];
    let results = place.run(&[&options[..], &folders[..]].concat()).with(0).json();
    let tests = results["tests"].as_array().unwrap();
    assert!(tests.len() > 60, "{results}");
    let names = tests.iter().map(|test| test["id"].as_str().unwrap());
    let skills: BTreeSet<_> = names.map(|name| name.split_once("::").unwrap().0).collect();
    assert_eq!(skills.len(), folders.len(), "{skills:?}");
}

#[test]
fn a_test_of_a_skill_that_fails_shows_the_differences() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.sum.up"]).with(0);
    let untested = place.run(&["test", "acme.sum.up"]).with(2);
    assert!(untested.stderr.contains("there are no tests in acme.sum.up"), "{}", untested.stderr);
    let code = "def main(args):\n    return {'keys': list(args), 'sum': sum(args.values())}\n";
    place.file("acme.sum.up/code/main.py", code);
    let manifest = "name = \"acme.sum.up\"\nversion = \"0.1.0\"\ndescription = \"Adds.\"\n\
        kind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\n\
        export = \"main\"\n[inputs]\nz = { type = \"number\" }\na = { type = \"number\" }\n";
    place.file("acme.sum.up/skill.toml", manifest);
    let good = r#"{"args": {"z": 1, "a": 0.5}, "expect": {"status": "completed",
        "output": {"keys": ["z", "a"], "sum": 1.5}}}"#;
    place.file("acme.sum.up/resources/tests/good.json", good);
    let bad =
        r#"{"args": {"z": 1, "a": 2}, "expect": {"status": "completed", "output": {"sum": 4}}}"#;
    place.file("acme.sum.up/resources/tests/bad.json", bad);
    let refused = r#"{"args": {"z": "x"}, "expect": {"status": "refused",
        "error_contains": "`z` must be a number"}}"#;
    place.file("acme.sum.up/resources/tests/refused.json", refused);
    let ended = place.run(&["test", "acme.sum.up"]).with(1);
    let wanted =
        ["FAILED  acme.sum.up::bad", "output.sum: expected 4, got 3", "2 passed, 1 failed"];
    assert!(contained(&ended.stdout, wanted).is_empty(), "{}", ended.stdout);
    let one = place.run(&["test", "acme.sum.up", "-k", "good"]).with(0);
    assert!(one.stdout.contains("1 passed, 0 failed"), "{}", one.stdout);
    let none = place.run(&["test", "acme.sum.up", "-k", "best"]).with(1);
    assert!(none.stderr.contains("no test has a name that contains `best`"), "{}", none.stderr);
    let twice = place.run(&["test", "acme.sum.up", "acme.sum.up", "-k", "good"]).with(0);
    assert!(twice.stdout.contains("1 passed, 0 failed"), "a folder is tested once: {twice:?}");
    for file in ["skill.toml", "SKILL.md", "code/main.py", "resources/tests/good.json"] {
        let text = fs::read_to_string(place.folder().join("acme.sum.up").join(file)).unwrap();
        place.file(&format!("copy/acme.sum.up/{file}"), text);
    }
    let copied = place.run(&["test", "acme.sum.up", "copy/acme.sum.up"]).with(2);
    assert!(copied.stderr.contains("two folders have version 0.1.0"), "{}", copied.stderr);
    place.file("acme.sum.up/resources/tests/bad.json", r#"{"expects": {}}"#);
    place.file("acme.sum.up/resources/tests/worse.json", "{");
    let blob = r#"{"blobs": {"x": {"mime_type": "text/plain", "file": "../x"}},
        "args": {"z": 1, "a": 1}, "expect": {"status": "completed"}}"#;
    place.file("acme.sum.up/resources/tests/again.json", blob);
    let malformed = place.run(&["test", "acme.sum.up"]).with(2);
    let said = &malformed.stderr;
    let wanted = [
        "no test was run",
        "resources/tests/again.json: blob x: `../x` is not a path below resources\n",
        "resources/tests/bad.json: unknown field `expects`",
        "resources/tests/worse.json: ",
    ];
    assert!(contained(said, wanted).is_empty(), "{said}");
    let places: Vec<usize> = ["again.json", "bad.json", "worse.json"]
        .iter()
        .map(|name| said.find(name).unwrap())
        .collect();
    assert!(places.is_sorted(), "{said}");
    let checked = place.run(&["skills", "check", "acme.sum.up"]).with(0);
    let wanted = ["test-malformed", "unknown field `expects`", "../x", "worse.json"];
    assert!(contained(&checked.stderr, wanted).is_empty(), "{}", checked.stderr);
}

#[test]
fn a_test_whose_file_is_missing_fails_and_the_others_run() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.files"]).with(0);
    place.file("acme.files/code/main.py", "def main(args):\n    return {'n': 1}\n");
    let missing = r#"{"blobs": {"x": {"mime_type": "text/plain", "file": "none.txt"}},
        "args": {"name": "a"}, "expect": {"status": "completed"}}"#;
    place.file("acme.files/resources/tests/a.json", missing);
    let good = r#"{"args": {"name": "a"}, "expect": {"status": "completed", "output": {"n": 1}}}"#;
    place.file("acme.files/resources/tests/b.json", good);
    let ended = place.run(&["test", "acme.files"]).with(1);
    let wanted =
        ["FAILED  acme.files::a", "none.txt", "ok      acme.files::b", "1 passed, 1 failed"];
    assert!(contained(&ended.stdout, wanted).is_empty(), "{}", ended.stdout);
    let checked = place.run(&["skills", "check", "acme.files"]).with(0);
    let wanted = ["test-file-missing", "needs `resources/none.txt`"];
    assert!(contained(&checked.stderr, wanted).is_empty(), "{}", checked.stderr);
}

#[test]
fn case_files_are_files_of_the_skill() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.files"]).with(0);
    place.file("acme.files/code/main.py", "def main(args):\n    return {'n': 1}\n");
    let secret = place.file("outside/secret.txt", "opensesame");
    let resources = place.folder().join("acme.files/resources");
    fs::create_dir_all(resources.join(".hidden")).unwrap();
    symlink(&secret, resources.join(".hidden/secret.txt")).unwrap();
    symlink(secret.parent().unwrap(), resources.join("__pycache__")).unwrap();
    symlink(&secret, resources.join("secret.pyc")).unwrap();
    symlink("/proc/self/environ", resources.join(".environ")).unwrap();
    for path in [".hidden/secret.txt", "__pycache__/secret.txt", "secret.pyc", ".environ"] {
        let blob = json!({"blobs": {"x": {"mime_type": "text/plain", "file": path}},
            "args": {"name": "a"}, "expect": {"status": "completed"}});
        let answer = json!({"args": {"name": "a"}, "expect": {"status": "completed"},
            "network": [{"request": {"url": "https://a.example/"}, "response": {"file": path}}]});
        for case in [blob, answer] {
            place.file("acme.files/resources/tests/a.json", case.to_string());
            let refused = place.run(&["test", "acme.files"]).with(2);
            let wanted = ["no test was run", path, "are excluded"];
            assert!(contained(&refused.stderr, wanted).is_empty(), "{}", refused.stderr);
        }
    }
}

#[test]
fn case_files_that_are_left_out_of_the_skill_are_not_run() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.files"]).with(0);
    place.file("acme.files/code/main.py", "def main(args):\n    return {'n': 1}\n");
    let good = r#"{"args": {"name": "a"}, "expect": {"status": "completed"}}"#;
    place.file("acme.files/resources/tests/a.json", good);
    let bad = r#"{"args": {"name": "a"}, "expect": {"status": "failed"}}"#;
    place.file("acme.files/resources/tests/.x.json", bad);
    let linked = place.file("outside.json", bad);
    symlink(linked, place.folder().join("acme.files/resources/tests/.y.json")).unwrap();
    let ended = place.run(&["test", "acme.files"]).with(0);
    assert!(ended.stdout.contains("1 passed, 0 failed"), "{}", ended.stdout);
}

#[test]
fn only_the_skill_that_is_executed_is_warned_of() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.good"]).with(0);
    place.file("acme.bad/skill.toml", "name = 7\n");
    place.file("acme.worse/skill.toml", "name = 8\n");
    let exec = |skill: &str| {
        let skills = place.folder().to_str().unwrap().to_owned();
        place.run(&["--skills", &skills, "exec", skill, "--args", "{\"name\": \"a\"}"])
    };
    let good = exec("acme.good").with(0);
    assert!(!good.stderr.contains("acme."), "{}", good.stderr);
    let bad = exec("acme.bad").with(2);
    assert!(bad.stderr.contains("warning: folder `acme.bad`: "), "{}", bad.stderr);
    assert!(!bad.stderr.contains("acme.worse"), "{}", bad.stderr);
}

/// A skill that gets one address with what its argument says.
const FETCHER: &str = "import urllib.request
def main(args):
    request = urllib.request.Request(args['url'], args.get('body', '').encode() or None)
    request.add_header('X-Key', 'k1')
    with urllib.request.urlopen(request, timeout=5) as answer:
        return {'status': answer.status, 'body': answer.read().decode(), 'kind': answer.headers['X-Kind']}
";

/// A folder with the skill, which may reach `a.example` and `b.example`.
fn fetcher() -> Command {
    let place = Command::new();
    let manifest = "name = \"acme.one.get\"\nversion = \"0.1.0\"\ndescription = \"Gets.\"\n\
        kind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\n\
        export = \"main\"\n[permissions]\nnetwork = [\"https://a.example\", \"http://b.example:8080\"]\n";
    place.file("acme.one.get/skill.toml", manifest);
    place.file("acme.one.get/code/main.py", FETCHER);
    place.file("acme.one.get/SKILL.md", "---\nname: One\nshort_description: Gets.\n---\n\nGets.\n");
    place
}

/// The differences of one case.
fn differences(place: &Command, case: &Value) -> Vec<String> {
    place.file("acme.one.get/resources/tests/one.json", case.to_string());
    let results = place.run(&["test", "acme.one.get", "--no-cache", "--json"]).json();
    let found = results["tests"][0]["details"].as_array().cloned().unwrap_or_default();
    found.iter().map(|line| line.as_str().unwrap().to_owned()).collect()
}

#[test]
fn recorded_answers_stand_for_the_network() {
    let place = fetcher();
    let body = "x".repeat(300_000);
    place.file("acme.one.get/resources/large.txt", &body);
    for (url, exchange, output) in [
        (
            "https://a.example/p?q=1",
            json!({"request": {"url": "https://a.example/p?q=1", "headers": {"x-key": "k1"}},
                "response": {"status": 203, "headers": {"X-Kind": "one"}, "text": "ä"}}),
            json!({"status": 203, "body": "ä", "kind": "one"}),
        ),
        (
            "http://b.example:8080/",
            json!({"request": {"url": "http://b.example:8080/"}, "response": {"file": "large.txt"}}),
            json!({"status": 200, "body": body}),
        ),
    ] {
        let case = json!({"args": {"url": url}, "network": [exchange],
            "expect": {"status": "completed", "output": output}});
        assert_eq!(differences(&place, &case), Vec::<String>::new(), "{url}");
    }
    let case = json!({
        "args": {"url": "https://a.example/", "body": "{\"b\": 1, \"a\": 2}"},
        "network": [{"request": {"method": "POST", "url": "https://a.example/", "json": {"a": 2, "b": 1}},
            "response": {"json": [1]}}],
        "expect": {"status": "completed", "output": {"body": "[1]"}},
    });
    assert_eq!(differences(&place, &case), Vec::<String>::new());
}

#[test]
fn requests_that_are_not_recorded_fail_and_are_told() {
    let place = fetcher();
    let get = |url: &str, network: Value, message: &str| {
        let case = json!({"args": {"url": url}, "network": network,
            "expect": {"status": "failed", "error_contains": message}});
        differences(&place, &case)
    };
    let url = "https://a.example/new";
    let old = json!([{"request": {"url": "https://a.example/old"}, "response": {}}]);
    let message = "the test has no recorded answer for GET https://a.example/new";
    assert_eq!(
        get(url, old, message),
        [
            "network: there is no recorded answer for GET https://a.example/new",
            "network[0]: GET https://a.example/old was never requested",
        ]
    );
    // Without a recording there is no network. The rules of the manifest hold all the same.
    assert_eq!(
        get(url, json!([]), message),
        ["network: there is no recorded answer for GET https://a.example/new"]
    );
    let elsewhere = json!([{"request": {"url": "https://c.example/"}, "response": {}}]);
    assert_eq!(
        get("https://c.example/", elsewhere, "c.example"),
        ["network[0]: GET https://c.example/ was never requested"]
    );
    let headers = json!([{"request": {"url": url, "headers": {"x-key": "k2"}}, "response": {}}]);
    assert_eq!(
        get(url, headers, message),
        [
            "network: there is no recorded answer for GET https://a.example/new; unlike \
             network[0], its header `x-key` has a different value",
            "network[0]: GET https://a.example/new was never requested",
        ]
    );
}

#[test]
fn failures_of_servers_can_be_recorded() {
    let place = fetcher();
    for (failure, message) in [
        ("unknown_host", "Name or service not known"),
        ("reset", "Connection reset by peer"),
        ("timeout", "timed out"),
    ] {
        let url = "https://a.example/";
        let case = json!({"args": {"url": url},
            "network": [{"request": {"url": url}, "failure": failure}],
            "expect": {"status": "failed", "error_contains": message}});
        assert_eq!(differences(&place, &case), Vec::<String>::new(), "{failure}");
    }
    for (wrong, reason) in [
        (json!({"request": {"url": "https://a.example/"}}), "either `response` or `failure`"),
        (json!({"request": {"url": "a"}, "response": {}}), "network[0]: `a` does not begin with"),
        (
            json!({"request": {"url": "https://a.example/"}, "response": {"file": "../skill.toml"}}),
            "is not a path below resources",
        ),
    ] {
        let case = json!({"network": [wrong], "expect": {"status": "completed"}});
        place.file("acme.one.get/resources/tests/one.json", case.to_string());
        let ended = place.run(&["test", "acme.one.get"]).with(2);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
    let lost = json!({"request": {"url": "https://a.example/"}, "response": {"file": "none.txt"}});
    let case = json!({"network": [lost], "expect": {"status": "completed"}});
    let found = differences(&place, &case);
    assert!(found.len() == 1 && found[0].starts_with("network[0]: none.txt: "), "{found:?}");
}

#[test]
fn tests_of_skills_that_are_interrupted_leave_no_files() {
    use std::io::{BufRead as _, BufReader};
    use std::process::Stdio;

    let place = Command::new();
    place.run(&["skills", "new", "acme.naps"]).with(0);
    place.file(
        "acme.naps/code/main.py",
        "def main(args):\n    while args['name'] == 'long':\n        pass\n",
    );
    for (case, name) in [("a", "short"), ("b", "long")] {
        let case = format!("acme.naps/resources/tests/{case}.json");
        let content = json!({"args": {"name": name}, "expect": {"status": "completed"}});
        place.file(&case, content.to_string());
    }
    let temporary = place.folder().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let mut child = place
        .process(&["test", "acme.naps", "--no-cache", "--timeout", "60"])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("ok      acme.naps::a"), "{line}");
    assert_ne!(fs::read_dir(&temporary).unwrap().count(), 0);
    Watched::of(child.id()).unwrap().interrupt();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}
