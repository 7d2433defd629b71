//! The command line: output streams and exit codes.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Command, Ended, SkillFolder, Watched, contained, repository};

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
fn converted_values_are_told_of_on_the_error_output() {
    let place = Command::new();
    let code = "import datetime\n\ndef main(args):\n    day = datetime.date(2026, 1, 2)\n    \
                return {'days': [day] * 3, 'a': {1}, 'b': {2}, 'c': {3}}\n";
    let ended = run_code(&place, code, &[]).with(0);
    assert_eq!(
        ended.stderr,
        "converted: $.days[0] from datetime.date to ISO 8601 text (3 times); $.a from set to \
         sorted list; $.b from set to sorted list; `--json` shows all\n"
    );
    let strict = run_code(&place, code, &["--strict-output"]).with(1);
    assert!(
        strict.stderr.contains("which JSON cannot hold; use .isoformat()"),
        "{}",
        strict.stderr
    );
    let result = run_code(&place, code, &["--json"]).with(0).json();
    assert_eq!(result["converted"].as_array().unwrap().len(), 4);
    // The record of the run repeats with its form of output.
    let plain = "def main(args):\n    return {'days': (1, 2)}\n";
    for (code, strict) in [(code, &[][..]), (plain, &["--strict-output"])] {
        let options = [&["--reproducible", "--record", "run.json"], strict].concat();
        run_code(&place, code, &options).with(0);
        let record = fs::read_to_string(place.folder().join("run.json")).unwrap();
        assert_eq!(record.contains("\"strict_output\":true"), !strict.is_empty(), "{record}");
        assert_eq!(place.run(&["verify", "run.json"]).with(0).stdout, "identical\n");
    }
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
    assert_eq!(files[0].file_name().unwrap(), "result.csv");
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), "A,B\n1,2\n");
    // A blob without a name is called like the member of the output that has its id.
    let code = "from runtime import blobs\n\
                {'pages': [blobs.write_text(str(n)) for n in (1, 2)], 'long': 'x' * 9}";
    run_code(&place, code, &["--out", "pages"]).with(0);
    let read = |path: &str| fs::read_to_string(place.folder().join("pages").join(path)).unwrap();
    assert_eq!((read("pages.txt"), read("pages (2).txt")), ("1".into(), "2".into()));
    run_code(&place, "list(range(100_000))", &["--out", "large"]).with(0);
    assert!(place.folder().join("large/output.json").is_file());
}

#[test]
fn a_long_result_of_a_query_has_a_telling_name() {
    let place = Command::new();
    let rows: String = (0..2_000).map(|n| format!("{n},row {n}\n")).collect();
    place.file("in.csv", format!("n,text\n{rows}"));
    let arguments = ["exec", "data.sql.query", "--args", r#"{"query": "select * from data"}"#];
    let files = ["--blob", "csv_blob=in.csv", "--out", "rows"];
    let ended = place.run(&[&arguments[..], &files].concat()).with(0);
    assert!(ended.stderr.contains("wrote rows/result.csv"), "{}", ended.stderr);
    let written = fs::read_to_string(place.folder().join("rows/result.csv")).unwrap();
    assert_eq!(written.lines().count(), 2_001);
}

#[test]
fn files_go_in_and_come_out_under_their_names() {
    let place = Command::new();
    place.file("sales.csv", "a,b\n1,2\n");
    let code = "import os\ntext = open('sales.csv').read()\nos.mkdir('charts')\n\
                open('charts/täglich 1.txt', 'w').write(text.upper())\n\
                open('big.bin', 'wb').write(b'x' * (70 << 20))\n\
                for n in range(60):\n    open(f'{n}.log', 'w').write(str(n))\n";
    let arguments = &["--file", "sales.csv", "--out", "results"];
    let ended = run_code(&place, code, arguments).with(0);
    let read = |path: &str| fs::read_to_string(place.folder().join("results").join(path)).unwrap();
    assert_eq!(read("charts/täglich 1.txt"), "A,B\n1,2\n", "{}", ended.stderr);
    let all = fs::read_dir(place.folder().join("results")).unwrap().count();
    assert_eq!(all, 62, "all files are written: {}", ended.stderr);
    assert!(ended.stderr.contains("wrote results/charts/täglich 1.txt"), "{}", ended.stderr);
    let again = run_code(&place, "open('0.log', 'w').write('0')", arguments).with(0);
    assert!(again.stderr.contains("results/0.log already has this content"), "{}", again.stderr);
    let again = run_code(&place, "open('0.log', 'w').write('other')", arguments).with(0);
    assert!(again.stderr.contains("wrote results/0 (2).log: "), "{}", again.stderr);
    assert_eq!((read("0.log"), read("0 (2).log")), ("0".to_owned(), "other".to_owned()));
    let dropped = run_code(&place, "open('report.txt', 'w').write('x')", &[]).with(0);
    assert!(dropped.stderr.contains("created and dropped: report.txt; keep"), "{}", dropped.stderr);
    place.file("copy.csv", "a,b\n1,2\n");
    let code = "open('sales.csv').read() == open('copy.csv').read() == 'a,b\\n1,2\\n'";
    let equal = run_code(&place, code, &["--file", "sales.csv", "--file", "copy.csv"]).with(0);
    assert_eq!(equal.json()["result"], true, "{}", equal.stderr);
    place.file("other/sales.csv", "x");
    let twice = run_code(&place, "1", &["--file", "sales.csv", "--file", "other/sales.csv"]);
    assert!(twice.with(2).stderr.contains("two files are named `sales.csv`"));
}

#[test]
fn blobs_have_names_on_the_command_line() {
    let place = Command::new();
    place.file("sales.csv", "a,b\n1,2\n");
    let put = place.run(&["blobs", "put", "sales.csv", "--json"]).with(0).json();
    assert_eq!(put["name"], "sales.csv");
    let named = ["blobs", "put", "-", "--name", "notes.md", "--json"];
    let other = place.run_with_input(&named, "# x").with(0).json();
    let listed = place.run(&["blobs", "list", "--json"]).with(0).json();
    let found = |id: &Value| {
        let blobs = listed.as_array().unwrap();
        blobs.iter().find(|blob| blob["blob_id"] == *id).unwrap().clone()
    };
    assert_eq!(found(&put["blob_id"])["name"], "sales.csv");
    let notes = found(&other["blob_id"]);
    assert_eq!((&notes["name"], &notes["kind"]), (&json!("notes.md"), &json!("text/markdown")));
    assert!(place.run(&["blobs", "list"]).with(0).stdout.contains("sales.csv"));
    let id = put["blob_id"].as_str().unwrap();
    fs::create_dir(place.folder().join("into")).unwrap();
    place.run(&["blobs", "get", id, "-o", "into"]).with(0);
    let path = place.folder().join("into/sales.csv");
    assert_eq!(fs::read_to_string(path).unwrap(), "a,b\n1,2\n");
    place.run(&["blobs", "put", "sales.csv", "--name", "a/b"]).with(2);
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
        (&["skills", "list", "--skills", "gone"], "create the folder"),
        (&["run", "-c", "1", "--skills", "gone"], "create the folder"),
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
    assert!(fine.stdout.contains("is valid"), "{}", fine.stdout);
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
    assert!(again.stderr.contains("already exists"), "{}", again.stderr);
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
    assert_eq!(told, json!({"blob_id": id, "size_bytes": 700_000, "name": "table.csv"}));
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
    for what in [
        "kernel",
        "user",
        "worker memory",
        "configuration",
        "disk",
        "lock-down",
        "clean-up",
        "huge pages",
    ] {
        let one = found(what);
        assert_eq!(one["state"] == "good", one.get("advice").is_none(), "{one}");
    }
    place.file("a-file", "");
    let ill = place.run(&["doctor", "--json", "--skills", "gone"]).with(3).json();
    let skills = ill.as_array().unwrap().iter().find(|one| one["what"] == "skills").unwrap();
    assert_eq!(skills["state"], "bad", "{ill}");
}

#[test]
fn a_large_result_is_printed_whole_and_its_blob_is_not_told_as_lost() {
    let place = Command::new();
    let code = "def main(args):\n    return {'rows': ['é' * 30] * 2000}\n";
    let ended = run_code(&place, code, &[]).with(0);
    let printed: Value = ended.json();
    assert_eq!(printed["rows"].as_array().unwrap().len(), 2_000);
    assert!(ended.stdout.contains(&"é".repeat(30)) && !ended.stdout.contains("truncated"));
    assert!(!ended.stderr.contains("dropped"), "{}", ended.stderr);
    // `--json` is the protocol's own result, which has a preview.
    let result = run_code(&place, code, &["--json"]).with(0).json();
    assert_eq!(
        (&result["output_truncated"], &result["output"]["truncated"]),
        (&json!(true), &json!(true))
    );
    // Other blobs are told of as before.
    let code = "from runtime import blobs\ndef main(args):\n    \
                blobs.write_text('x', 'text/plain')\n    return 'y' * 9000\n";
    let ended = run_code(&place, code, &[]).with(0);
    assert!(ended.stderr.contains("created and dropped: blob:"), "{}", ended.stderr);
    assert!(ended.stdout.contains(&"y".repeat(9_000)));
}

#[test]
fn output_comes_while_the_program_runs_and_stays_when_it_is_ended() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;

    let place = Command::new();
    let code = "import sys, time\nprint('first')\nprint('aside', file=sys.stderr)\n\
                print('é', end='', flush=True)\ntime.sleep(50)\n";
    let mut child = place
        .process(&["run", "-c", code, "--timeout-ms", "60000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    let mut letter = [0; 2];
    stdout.read_exact(&mut letter).unwrap();
    assert_eq!(letter, "é".as_bytes());
    assert!(child.try_wait().unwrap().is_none(), "it still sleeps");
    Watched::of(child.id()).unwrap().interrupt();
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{errors}");
    assert!(errors.contains("aside"), "{errors}");
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest.trim(), "", "nothing is printed twice");
}

#[test]
fn what_was_printed_is_printed_once_and_in_order() {
    let place = Command::new();
    let code = "import sys\nfor n in range(3000):\n    print(n)\n    print(n, file=sys.stderr)\n";
    let ended = run_code(&place, code, &[]).with(0);
    let numbers: String = (0..3_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(ended.stdout, numbers);
    assert!(ended.stderr.starts_with(&numbers), "{}", ended.stderr.len());
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none() {
    use std::process::Stdio;

    let place = Command::new();
    for arguments in [
        &["run", "-c", "print(1)"][..],
        &["skills", "list"],
        &["config"],
        &["--help"],
        &["--version"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = place.process(arguments).stdin(Stdio::null()).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{arguments:?}: {told}");
        assert!(told.contains("could not write to standard output"), "{arguments:?}: {told}");
        // A pipe whose reader is gone.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = place.process(arguments).stdin(Stdio::null()).stdout(writer).output().unwrap();
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {told}");
        assert!(!told.contains("error"), "{arguments:?}: {told}");
    }
}

#[test]
fn folders_may_be_named_from_the_working_folder() {
    let place = Command::new();
    fs::create_dir(place.folder().join("mine")).unwrap();
    let arguments = ["engine", "info", "--cache-dir", "./cache", "--skills", "mine"];
    let info = place.run(&arguments).with(0);
    let cache = place.folder().canonicalize().unwrap().join("cache");
    assert!(info.stdout.contains(cache.to_str().unwrap()), "{}", info.stdout);
    let verified = place.run(&["engine", "verify", "--cache-dir", "cache"]).with(3);
    assert!(verified.stderr.contains("the cache is empty"), "{}", verified.stderr);
}

/// The findings of `skills check --json` as lines.
fn findings(place: &Command, folder: &str, code: i32) -> Vec<String> {
    let found = place.run(&["skills", "check", folder, "--json"]).with(code).json();
    let found = &found[0];
    assert_eq!(found.get("python_not_checked"), None, "{found}");
    let lines = found["diagnostics"].as_array().unwrap().iter().map(|one| {
        let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        let line = one["place"]["line"].as_u64().unwrap_or(0);
        format!("{} {} {}:{line} {}", text("severity"), text("code"), text("file"), text("message"))
    });
    lines.collect()
}

#[test]
fn the_python_of_skills_is_checked() {
    let place = Command::new();
    let skills = SkillFolder::new();
    let check = |name: &str, code: i32| findings(&place, skills.at(name).to_str().unwrap(), code);

    skills.action("good.one", "1.0.0", "import csv, numpy, helper\nfrom runtime import log\ntry:\n    import polars\nexcept ImportError:\n    polars = None\nmain = lambda args: {}\n");
    skills.file("good.one/code/helper.py", "import json\n");
    assert_eq!(check("good.one", 0), Vec::<String>::new());

    skills.action("bad.syntax", "1.0.0", "def main(args):\n    return (1,\n");
    let found = check("bad.syntax", 1);
    assert!(
        found.len() == 1 && found[0].starts_with("error python-syntax code/main.py:2 "),
        "{found:?}"
    );

    skills.action("bad.late", "1.0.0", "def main(args):\n    pass\nreturn 1\n");
    assert!(check("bad.late", 1)[0].starts_with("error python-syntax code/main.py:3 "));

    skills.action(
        "bad.package",
        "1.0.0",
        "import os\nimport polars as pl\ndef main(args):\n    import nothing_like_it\n",
    );
    let found = check("bad.package", 1);
    assert!(found[0].starts_with("error package-missing code/main.py:2 "), "{found:?}");
    assert!(found[1].starts_with("warning package-missing code/main.py:4 "), "{found:?}");

    skills.action("bad.export", "1.0.0", "def mian(args):\n    # main\n    pass\n");
    let found = check("bad.export", 1);
    assert!(
        found.len() == 1 && found[0].starts_with("error export-missing code/main.py"),
        "{found:?}"
    );

    skills.action("odd.files", "1.0.0", "def main(args):\n    pass\n");
    skills.file("odd.files/code/csv.py", "").file("odd.files/code/pandas.py", "");
    skills.file("odd.files/requirements.txt", "polars\n");
    let found = check("odd.files", 0);
    for wanted in [
        "requirements-ignored requirements.txt",
        "shadows-library code/csv.py",
        "shadows-package code/pandas.py",
    ] {
        assert!(found.iter().any(|one| one.contains(wanted)), "{wanted}: {found:?}");
    }
    assert_eq!(found.len(), 3, "{found:?}");
    // What every run has needs no lock.
    skills.file("odd.files/requirements.txt", "pandas\npdfplumber\n");
    assert_eq!(check("odd.files", 0).len(), 2);

    // A person is shown the line.
    let shown = place.run(&["skills", "check", skills.at("bad.package").to_str().unwrap()]).with(1);
    let wanted = ["import polars as pl", "use pandas", "1 error, 1 warning"];
    assert!(contained(&shown.stderr, wanted).is_empty(), "{}", shown.stderr);
}

#[test]
fn without_the_engine_the_check_says_what_it_did_not_look_at() {
    let place = Command::new();
    let skills = SkillFolder::new();
    skills.action("a.b", "1.0.0", "def main(args):\n    pass\n");
    let folder = skills.at("a.b");
    let folder = folder.to_str().unwrap();
    let ended = place.run(&["skills", "check", folder, "--cache-dir", "empty"]).with(0);
    assert!(ended.stderr.contains("not checked: the engine is not installed"), "{}", ended.stderr);
}

#[test]
fn a_skill_of_ones_own_takes_the_place_of_a_bundled_one() {
    let place = Command::new();
    let skills = SkillFolder::new();
    skills.action("hello.world", "0.0.1", "def main(args):\n    return {'mine': True}\n");
    let place = place.set("WARDIAN_SKILLS_ROOTS", skills.path());
    let done = place.run(&["exec", "hello.world", "--json"]).with(0).json();
    assert_eq!(done["output"], json!({"mine": true}));
    let listed = place.run(&["skills", "list"]).with(0);
    let note = "`hello.world` replaces the bundled skill";
    assert!(listed.stderr.contains(note), "{}", listed.stderr);
    assert!(listed.stdout.contains("0.0.1"), "{}", listed.stdout);
    let healthy = place.run(&["doctor"]).with(0);
    assert!(
        healthy.stdout.contains("in place of bundled ones: `hello.world`"),
        "{}",
        healthy.stdout
    );
    let folder = skills.at("hello.world");
    let found = findings(&place, folder.to_str().unwrap(), 0);
    assert!(found[0].starts_with("warning bundled-name"), "{found:?}");
    let made = place.run(&["skills", "new", "data.csv.profile"]).with(0);
    assert!(made.stderr.contains("replaces the bundled skill"), "{}", made.stderr);
    let refused = place.run(&["skills", "new", "skills.protocol.guide"]).with(2);
    assert!(refused.stderr.contains("part of the server"), "{}", refused.stderr);
}

#[test]
fn arguments_reach_a_program_in_the_order_of_the_caller() {
    let code = "def main(args): return list(args)";
    let ended = run_code(&Command::new(), code, &["--args", r#"{"z": 1, "a": 2, "m": 3}"#]);
    assert_eq!(
        ended.with(0).stdout.split_whitespace().collect::<String>(),
        r#"{"result":["z","a","m"]}"#
    );
}
