//! The command line, typed as people and scripts do: what is printed where, and how it ends.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Command, Ended, SkillFolder, contained, repository};

/// Types `wardian run -c CODE` with more arguments.
fn run_code(place: &Command, code: &str, more: &[&str]) -> Ended {
    place.run(&[&["run", "-c", code], more].concat())
}

#[test]
fn a_program_prints_where_it_printed_and_then_what_it_returns() {
    let place = Command::new();
    let code = "import sys\nprint('to stdout')\nprint('to stderr', file=sys.stderr)\n\
                def main(args):\n    return {'n': args['n'] + 1}\n";
    let ended = run_code(&place, code, &["--args", "{\"n\": 41}"]).with(0);
    assert_eq!(ended.stdout, "to stdout\n{\n  \"n\": 42\n}\n");
    assert_eq!(ended.stderr, "to stderr\n");
}

#[test]
fn a_program_comes_from_a_file_or_from_standard_input() {
    let place = Command::new();
    place.file("folder/program.py", "def main(args):\n    return __file__\n");
    let from_file = place.run(&["run", "folder/program.py"]).with(0);
    assert!(from_file.stdout.contains("program.py"), "{}", from_file.stdout);
    let from_input = place.run_with_input(&["run", "-"], "print('from input')\n").with(0);
    assert_eq!(from_input.stdout, "from input\n");
}

#[test]
fn a_failed_program_is_told_with_its_lines_and_the_exit_code_1() {
    let place = Command::new();
    let ended = run_code(&place, "print('before')\n1 / 0\n", &[]).with(1);
    assert_eq!(ended.stdout, "before\n");
    let wanted = ["line 2", "ZeroDivisionError: division by zero", "failed after"];
    assert!(contained(&ended.stderr, wanted).is_empty(), "{}", ended.stderr);
    let stopped = run_code(&place, "while True: pass", &["--timeout-ms", "200"]).with(1);
    assert!(stopped.stderr.contains("Timeout"), "{}", stopped.stderr);
}

#[test]
fn with_json_the_result_of_the_protocol_is_printed_and_nothing_else() {
    let place = Command::new();
    let good = run_code(&place, "print('said')\ndef main(args):\n    return 7\n", &["--json"]);
    let result = good.with(0).json();
    assert_eq!(
        (&result["status"], &result["output"]),
        (&json!("completed"), &json!({"result": 7}))
    );
    assert_eq!(result["logs_preview"], "said\n");
    let bad = run_code(&place, "raise KeyError('x')\n", &["--json"]).with(1).json();
    assert_eq!((&bad["status"], &bad["error"]["type"]), (&json!("failed"), &json!("KeyError")));
}

#[test]
fn files_go_in_and_blobs_come_out() {
    let place = Command::new();
    place.file("in.csv", "a,b\n1,2\n");
    let code = "from runtime import blobs\ndef main(args):\n    \
                return blobs.write_text(blobs.read_text(args['sheet']).upper(), 'text/csv')\n";
    let ended = run_code(&place, code, &["--blob", "sheet=in.csv", "--out", "results"]).with(0);
    let files: Vec<_> =
        fs::read_dir(place.folder().join("results")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{}", ended.stderr);
    assert_eq!(files[0].extension().unwrap(), "csv");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), "A,B\n1,2\n");
}

#[test]
fn what_is_wrong_with_a_command_is_told_with_the_exit_code_2() {
    let place = Command::new();
    place.file("file", "");
    for (arguments, wanted) in [
        (&["run"][..], "FILE"),
        (&["run", "gone.py"], "gone.py"),
        (&["run", "-c", "1", "--args", "[1]"], "JSON object"),
        (&["run", "-c", "1", "--args", "{\"a\":1,\"a\":2}"], "twice"),
        (&["run", "-c", "1", "--args", "@gone.json"], "gone.json"),
        (&["run", "-c", "1", "--blob", "gone.csv"], "gone.csv"),
        (&["run", "-c", "1", "--mount-skill", "no.such.skill"], "no.such.skill"),
        (&["run", "-c", "1", "--entrypoint", "gone", "--timeout-ms", "999999999"], "timeout_ms"),
        (&["exec", "no.such.skill"], "no.such.skill"),
        (&["exec", "hello.world@9.9.9"], "9.9.9"),
        (&["exec", "skills.protocol.guide"], "instruction"),
        (&["exec", "hello.world", "--args", "{\"nmae\": 1}"], "nmae"),
        (&["exec", "../etc"], "skill name"),
        (&["skills", "show", "no.such.skill"], "no.such.skill"),
        (&["skills", "show", "hello.world", "--file", "gone.md"], "gone.md"),
        (&["skills", "show", "hello.world", "--file", "../skill.toml"], "`path`"),
        (&["skills", "check", "gone"], "gone"),
        (&["skills", "new", "Not A Name"], "skill name"),
        (&["skills", "new", "a.b", "--in", "file"], "file"),
        (&["skills", "list", "--skills", "gone"], "make the folder"),
        (&["run", "-c", "1", "--skills", "gone"], "make the folder"),
        (&["blobs", "get", "blob:nonsense"], "blob"),
        (&["blobs", "put", "gone.csv"], "gone.csv"),
        (&["blobs", "put", "file", "--kind", "nonsense"], "MIME type"),
        (&["serve", "--listen", "nowhere"], "listen"),
        (&["serve", "--workers", "0"], "workers.count"),
        (&["config", "--set", "no.such.key=1"], "no.such.key"),
        (&["config", "--config", "gone.toml"], "gone.toml"),
        (&["fly"], "fly"),
    ] {
        let ended = place.run(arguments).with(2);
        assert!(ended.stderr.contains(wanted), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{arguments:?}");
        assert!(!ended.stderr.contains("panicked"), "{arguments:?}: {}", ended.stderr);
    }
}

#[test]
fn what_the_machine_refuses_is_told_with_the_exit_code_3() {
    let place = Command::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = place.run(&["serve", "--listen", &address]).with(3);
    assert!(ended.stderr.contains(&address), "{}", ended.stderr);

    place.file("data", "a file where a folder has to be");
    let ended = place.run(&["blobs", "put", "data"]).with(3);
    assert!(ended.stderr.starts_with("error: "), "{}", ended.stderr);
}

#[test]
fn skills_are_listed_shown_and_executed() {
    let place = Command::new();
    let skills = SkillFolder::new();
    skills.action("acme.double", "1.0.0", "def main(args):\n    return {'twice': 2 * args['n']}\n");
    skills.action(
        "acme.double@1.1.0",
        "1.1.0",
        "def main(args):\n    return {'twice': args['n'] + args['n']}\n",
    );
    skills.instruction("acme.guide", "0.1.0");
    let place = place.set("WARDIAN_SKILLS_ROOTS", skills.path());

    let listed = place.run(&["skills", "list", "--namespace", "acme", "--json"]).with(0).json();
    let names: Vec<_> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| [skill["name"].clone(), skill["version"].clone(), skill["kind"].clone()])
        .collect();
    let expected =
        json!([["acme.double", "1.1.0", "action"], ["acme.guide", "0.1.0", "instruction"]]);
    assert_eq!(json!(names), expected);
    let table = place.run(&["skills", "list"]).with(0);
    assert!(contained(&table.stdout, ["acme.double", "hello.world", "1.1.0"]).is_empty());

    let shown = place.run(&["skills", "show", "acme.double@1.0.0", "--json"]).with(0).json();
    assert_eq!(shown["skill"]["manifest"]["version"], "1.0.0");
    let file = place.run(&["skills", "show", "acme.double", "--file", "code/main.py"]).with(0);
    assert_eq!(file.bytes, fs::read(skills.at("acme.double@1.1.0/code/main.py")).unwrap());

    let done = place.run(&["exec", "acme.double", "--args", "{\"n\": 21}", "--json"]).with(0);
    assert_eq!(done.json()["output"]["twice"], 42);
    let missing = place.run(&["exec", "acme.double"]).with(1);
    assert!(missing.stderr.contains("KeyError"), "{}", missing.stderr);
}

#[test]
fn mistakes_in_skills_are_told_once() {
    let skills = SkillFolder::new();
    skills.file("bad.one/skill.toml", "x").file("bad.one/SKILL.md", "# Bad\n");
    skills.action("with-dash.name", "1.0.0", "def main():\n    pass\n");
    let place = Command::new().set("WARDIAN_SKILLS_ROOTS", skills.path());
    let listed = place.run(&["skills", "list"]).with(0);
    for (wanted, count) in [("bad.one", 1), ("`with-dash.name` 1.0.0", 1), ("skills check", 1)] {
        assert_eq!(listed.stderr.matches(wanted).count(), count, "{wanted}: {}", listed.stderr);
    }
    let healthy = place.run(&["doctor"]).with(0);
    assert_eq!(healthy.stderr.matches("bad.one").count(), 0, "{}", healthy.stderr);
    assert!(healthy.stdout.contains("1 folders are not"), "{}", healthy.stdout);
    let asked = place.run(&["skills", "list", "--log-level", "warn"]).with(0);
    assert!(asked.stderr.contains("WARN"), "whoever asks for the log has it: {}", asked.stderr);
}

#[test]
fn checked_skills_are_good_or_not() {
    let place = Command::new();
    let good = repository("tests/fixtures/skills/good/hello.world");
    let bad = repository("tests/fixtures/skills/bad/many.mistakes");
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let fine = place.run(&["skills", "check", good]).with(0);
    assert!(fine.stdout.contains("is good"), "{}", fine.stdout);
    place.run(&["skills", "check", good, bad]).with(1);
    let found = place.run(&["skills", "check", bad, good, "--json"]).with(1).json();
    assert_eq!((&found[0]["skill"], found[0]["folder"].as_str()), (&Value::Null, Some(bad)));
    assert!(found[0]["diagnostics"].as_array().unwrap().len() > 1, "{found}");
    assert!(found[1]["skill"].as_str().unwrap().starts_with("hello.world@"), "{found}");
}

#[test]
fn a_new_skill_is_good_and_runs_at_once() {
    let place = Command::new();
    let made = place.run(&["skills", "new", "acme.sales.report", "--in", "not/yet/there"]).with(0);
    assert!(made.stdout.contains("Execute it"), "{}", made.stdout);
    place.run(&["skills", "check", "not/yet/there/acme.sales.report"]).with(0);
    let arguments = ["exec", "acme.sales.report", "--skills", "not/yet/there", "--json"];
    let done = place.run(&arguments).with(0).json();
    assert_eq!(done["output"]["greeting"], "Hello, world!");
    let again = place.run(&["skills", "new", "acme.sales.report", "--in", "not/yet/there"]).with(2);
    assert!(again.stderr.contains("is there already"), "{}", again.stderr);
    place.run(&["skills", "new", "acme.guide", "--instruction"]).with(0);
    place.run(&["skills", "check", "acme.guide"]).with(0);
}

#[test]
fn blobs_go_into_the_store_and_come_out() {
    let place = Command::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(700_000).collect();
    place.file("table.csv", &bytes);
    let id = place.run(&["blobs", "put", "table.csv"]).with(0).stdout;
    let id = id.trim();
    let told = place.run(&["blobs", "put", "table.csv", "--json"]).with(0).json();
    assert_eq!(told, json!({"blob_id": id, "size_bytes": 700_000}));
    assert_eq!(place.run(&["blobs", "get", id]).with(0).bytes, bytes);
    place.run(&["blobs", "get", id, "-o", "copy.csv"]).with(0);
    assert_eq!(fs::read(place.folder().join("copy.csv")).unwrap(), bytes);
    let gone = format!("blob:{}", "a".repeat(52));
    place.run(&["blobs", "get", &gone, "-o", "copy.csv"]).with(2);
    assert_eq!(fs::read(place.folder().join("copy.csv")).unwrap(), bytes, "it is still there");
}

#[test]
fn the_doctor_says_of_everything_how_it_is() {
    let place = Command::new();
    let healthy = place.run(&["doctor", "--json"]).with(0).json();
    let found = |what: &str| {
        let all = healthy.as_array().unwrap();
        all.iter().find(|one| one["what"] == what).unwrap_or_else(|| panic!("{what}: {healthy}"))
    };
    for what in ["blob store", "skills", "engine", "workers", "sandbox", "run"] {
        assert_eq!(found(what)["state"], "good", "{healthy}");
    }
    for what in ["kernel", "user", "configuration", "disk", "lock-down", "clean-up"] {
        let one = found(what);
        assert_eq!(one["state"] == "good", one.get("advice").is_none(), "{one}");
    }
    place.file("a-file", "");
    let ill = place.run(&["doctor", "--json", "--skills", "gone"]).with(3).json();
    let skills = ill.as_array().unwrap().iter().find(|one| one["what"] == "skills").unwrap();
    assert_eq!(skills["state"], "bad", "{ill}");
}
