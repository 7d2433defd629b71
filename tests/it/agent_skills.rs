//! Skills in the form of Agent Skills: their scripts are executed as they are.

use serde_json::{Value, json};

use crate::support::cache::untouched_script;
use crate::support::{Client, Command, SkillFolder, TestServer};

const DOCUMENT: &str = "---\nname: forms\ndescription: Fills forms. Use it for forms.\n\
    license: MIT\ncompatibility: Needs Python\nallowed-tools: Bash(python *)\n\
    metadata:\n  author: acme\n  env: MODE\n---\n\n# Forms\n\nRun `python scripts/fill.py IN OUT`.\n";

/// Fills a form: imports what is beside it, reads data beside it, takes a command line.
const FILL: &str = r#"#!/usr/bin/env python3
"""Fills a form with fields.

More about it.
"""
import argparse
import json
import sys
from pathlib import Path

from helpers.words import shout
from shared import double

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fills a form.")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--times", type=int, default=1)
    options = parser.parse_args()
    end = json.loads((Path(__file__).parent / "data.json").read_text())["end"]
    text = Path(options.source).read_text().strip()
    Path(options.target).write_text(shout(text) * double(options.times) + end)
    print("wrote", options.target)
    print("filled", len(text), "letters", file=sys.stderr)
"#;

const FILES: &[(&str, &str)] = &[
    ("SKILL.md", DOCUMENT),
    ("scripts/fill.py", FILL),
    ("scripts/__init__.py", ""),
    ("scripts/shared.py", "def double(n):\n    return 2 * n\n"),
    ("scripts/helpers/__init__.py", ""),
    ("scripts/helpers/words.py", "def shout(text):\n    return text.upper()\n"),
    ("scripts/data.json", "{\"end\": \"!\"}"),
    ("scripts/dotted.py", "from scripts.shared import double\nprint(double(4))\n"),
    ("scripts/relative.py", "# Doubles five.\nfrom .shared import double\nprint(double(5))\n"),
    ("scripts/lines.py", "import sys\nprint(sys.stdin.read()[::-1])\n"),
    ("scripts/mode.py", "import os\nprint(os.environ.get('MODE'), os.environ.get('HOME'))\n"),
    (
        "scripts/check.py",
        "import sys\nfrom pathlib import Path\nPath('report.txt').write_text('bad')\n\
         print('found 2 problems')\nprint('line 3: no field', file=sys.stderr)\nsys.exit(3)\n",
    ),
    ("scripts/raises.py", "def load(x):\n    raise ValueError(f'no field {x}')\n\nload('a')\n"),
    ("scripts/lacks.py", "import nothing_like_it\n"),
    (
        "scripts/tells.py",
        "import logging, traceback\ntry:\n    import nothing_like_it\nexcept ImportError:\n    \
         traceback.print_exc()\n    logging.exception('no module')\n",
    ),
    ("scripts/opens.py", "import sys\nopen(sys.argv[1])\n"),
    (
        "scripts/lint.py",
        "import ast, importlib.util, json, sys\n\
         names = [node.name for node in ast.walk(ast.parse(open(sys.argv[1]).read())) if hasattr(node, 'name')]\n\
         print(names, json.loads('1'), importlib.util.find_spec('work'), importlib.util.find_spec('mod'))\n",
    ),
    (
        "scripts/floods.py",
        "for n in range(400_000):\n    print('line', n)\nraise ValueError('the end')\n",
    ),
    ("scripts/long.py", "for n in range(20_000):\n    print(n)\n"),
    (
        "scripts/starts.py",
        "import subprocess, sys\nfrom pathlib import Path\n\
         child = Path(__file__).with_name('lines.py')\n\
         done = subprocess.run([sys.executable, str(child)], input='abc', text=True, capture_output=True)\n\
         print('child said', done.stdout.strip(), done.returncode)\n",
    ),
    ("core/gif.py", "def make():\n    return 1\n"),
];

fn skills() -> SkillFolder {
    let skills = SkillFolder::new();
    for (path, text) in FILES {
        skills.file(&format!("forms/{path}"), text);
    }
    skills
}

fn call(client: &Client, script: &str, more: Value) -> Value {
    let mut params = json!({"name": "forms", "script": script});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call("execute_skill", params).unwrap()
}

#[test]
fn a_skill_with_scripts_is_listed_as_executable_and_describes_them() {
    let skills = skills();
    skills.file("notes/SKILL.md", "---\nname: notes\ndescription: Notes.\n---\n\n# Notes\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let list = client.call("list_skills", json!({"detail": "summary", "limit": 500})).unwrap();
    let kind = |name: &str| {
        let mut all = list["skills"].as_array().unwrap().iter();
        all.find(|skill| skill["name"] == name).unwrap()["kind"].clone()
    };
    assert_eq!((kind("forms"), kind("notes")), (json!("action"), json!("instruction")));
    let full = client.call("describe_skill", json!({"name": "forms", "detail": "full"})).unwrap();
    let skill = &full["skill"];
    let manifest = &skill["manifest"];
    assert_eq!(
        (&manifest["license"], &manifest["compatibility"]),
        (&json!("MIT"), &json!("Needs Python"))
    );
    assert_eq!(manifest["allowed-tools"], "Bash(python *)");
    assert_eq!(manifest["metadata"]["author"], "acme");
    let scripts = skill["scripts"].as_array().unwrap();
    let paths: Vec<&str> = scripts.iter().map(|one| one["path"].as_str().unwrap()).collect();
    assert!(
        paths.contains(&"scripts/fill.py") && paths.contains(&"scripts/dotted.py"),
        "{paths:?}"
    );
    for module in
        ["scripts/shared.py", "scripts/helpers/words.py", "scripts/__init__.py", "core/gif.py"]
    {
        assert!(!paths.contains(&module), "{paths:?}");
    }
    let help = |path: &str| scripts.iter().find(|one| one["path"] == path).unwrap()["help"].clone();
    assert_eq!(help("scripts/fill.py"), "Fills a form with fields.");
    assert_eq!(help("scripts/relative.py"), "Doubles five.");
    assert!(skill.get("input_schema").is_none(), "{skill}");
    let summary = client.call("describe_skill", json!({"name": "forms"})).unwrap();
    assert!(summary["skill"].get("scripts").is_none(), "{summary}");
}

#[test]
fn a_script_is_run_with_files_a_command_line_and_both_of_its_streams() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let blob = client.create_text("ab\n", "text/plain");
    let params = json!({
        "argv": ["in.txt", "out.txt", "--times", "2"],
        "input_blobs": [{"blob": blob, "path": "in.txt"}],
    });
    let ended = call(&client, "scripts/fill.py", params);
    assert_eq!(
        (&ended["status"], &ended["exit_code"]),
        (&json!("completed"), &json!(0)),
        "{ended:#}"
    );
    assert_eq!(
        (&ended["stdout"], &ended["stderr"]),
        (&json!("wrote out.txt\n"), &json!("filled 2 letters\n"))
    );
    assert_eq!((&ended["output"], ended.get("error")), (&Value::Null, None));
    let file = &ended["files"][0];
    assert_eq!(file["path"], "out.txt");
    assert_eq!(client.read_bytes(file["blob_id"].as_str().unwrap()), b"ABABABAB!");
    assert_eq!(ended["files"].as_array().unwrap().len(), 1, "{ended:#}");
    for (script, printed) in [("scripts/dotted.py", "8\n"), ("scripts/relative.py", "10\n")] {
        assert_eq!(call(&client, script, json!({}))["stdout"], printed);
    }
    for path in ["./scripts/dotted.py", "/skills/forms/scripts/dotted.py"] {
        assert_eq!(call(&client, path, json!({}))["stdout"], "8\n");
    }
    let lines = call(&client, "scripts/lines.py", json!({"stdin": "abc"}));
    assert_eq!(lines["stdout"], "cba\n");
    let starts = call(&client, "scripts/starts.py", json!({}));
    assert_eq!(starts["stdout"], "child said cba 0\n", "{starts:#}");
}

#[test]
fn help_and_wrong_usage_are_those_of_the_script() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let help = call(&client, "scripts/fill.py", json!({"argv": ["--help"]}));
    assert_eq!(help["exit_code"], 0, "{help:#}");
    assert!(help["stdout"].as_str().unwrap().starts_with("usage: fill.py [-h]"), "{help:#}");
    let wrong = call(&client, "scripts/fill.py", json!({"argv": ["in.txt"]}));
    assert_eq!((&wrong["status"], &wrong["exit_code"]), (&json!("failed"), &json!(2)), "{wrong:#}");
    let last = "fill.py: error: the following arguments are required: target";
    assert!(wrong["stderr"].as_str().unwrap().ends_with(&format!("{last}\n")), "{wrong:#}");
    assert_eq!(wrong["error"]["type"], "SystemExit");
    assert_eq!(
        wrong["error"]["message"],
        format!("`scripts/fill.py` ended with exit code 2: {last}")
    );
}

#[test]
fn a_script_that_fails_loses_neither_its_output_nor_its_files() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let ended = call(&client, "scripts/check.py", json!({}));
    assert_eq!((&ended["status"], &ended["exit_code"]), (&json!("failed"), &json!(3)), "{ended:#}");
    assert_eq!(
        (&ended["stdout"], &ended["stderr"]),
        (&json!("found 2 problems\n"), &json!("line 3: no field\n"))
    );
    let blob = ended["files"][0]["blob_id"].as_str().unwrap();
    assert_eq!(client.read_bytes(blob), b"bad");
    let raised = call(&client, "scripts/raises.py", json!({}));
    assert_eq!((&raised["exit_code"], &raised["error"]["type"]), (&json!(1), &json!("ValueError")));
    assert_eq!(raised["error"]["message"], "no field a");
    assert!(raised["error"].get("traceback").is_none(), "{raised:#}");
    let stderr = raised["stderr"].as_str().unwrap();
    let file = "  File \"/skills/forms/scripts/raises.py\", line 4, in <module>";
    assert!(stderr.starts_with("Traceback (most recent call last):\n"), "{stderr}");
    assert!(stderr.contains(file) && stderr.ends_with("ValueError: no field a\n"), "{stderr}");
    assert!(!stderr.contains("<wardian>"), "{stderr}");
    let stopped =
        call(&client, "scripts/lines.py", json!({"timeout_ms": 1, "stdin": "x".repeat(900_000)}));
    if stopped["error"]["type"] == "Timeout" {
        assert!(stopped.get("exit_code").is_none(), "{stopped:#}");
    }
}

#[test]
fn a_missing_module_is_told_with_advice_wherever_a_script_runs() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let advice = "ModuleNotFoundError: No module named 'nothing_like_it': it is not installed, and nothing can be \
                  installed; load_skills_protocol_guide lists what is; a skill has others that `wardian skills deps \
                  lock` has locked\n";
    for more in [json!({}), json!({"session": "new"})] {
        let ended = call(&client, "scripts/lacks.py", more.clone());
        assert!(ended["stderr"].as_str().unwrap().ends_with(advice), "{ended:#}");
        let ended = call(&client, "scripts/tells.py", more);
        let stderr = ended["stderr"].as_str().unwrap();
        assert_eq!(stderr.matches(advice).count(), 2, "{stderr}");
        assert!(!stderr.contains("Site initialization"), "{stderr}");
    }
    let code = "import subprocess, sys\nopen('x.py', 'w').write('import nothing_like_it')\n\
                [subprocess.run([sys.executable, *words], capture_output=True, text=True).stderr \
                for words in (['x.py'], ['-m', 'x'], ['-c', 'import nothing_like_it'])]";
    let children = client.run(code);
    for said in children["output"]["result"].as_array().unwrap() {
        assert!(said.as_str().unwrap().ends_with(advice), "{children:#}");
    }
}

#[test]
fn a_missing_file_of_a_skill_is_said_to_be_one() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    for more in [json!({}), json!({"session": "new"})] {
        for (path, words) in [
            ("data.json", "and the skill has `/skills/forms/scripts/data.json`: open that"),
            ("/skills/forms/data.json", "the skill has `/skills/forms/scripts/data.json`"),
            ("/skills/forms/none.json", "the skill `forms` has no such file"),
            ("/skills/none/data.json", "no skill `none` is mounted in this run (mounted: `forms`)"),
        ] {
            let mut params = json!({"argv": [path]});
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let ended = call(&client, "scripts/opens.py", params);
            let stderr = ended["stderr"].as_str().unwrap();
            assert!(stderr.contains(words) && !stderr.contains("input_blobs"), "{path}: {stderr}");
        }
    }
}

#[test]
fn a_script_reads_python_files_and_does_not_import_them() {
    let skills = skills();
    let manifest = "name = \"acme.net\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"action\"\n\
                    [permissions]\nnetwork = [\"https://api.example\"]\n";
    skills.file("acme.net/skill.toml", manifest).file("acme.net/scripts/a.py", "print(1)\n");
    skills.file("acme.net/SKILL.md", "---\nname: N\nshort_description: d\n---\n\n# N\n\nText.\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let blob = client.create_text("def work(): pass\nclass B: pass\n", "text/x-python");
    let files = json!([
        {"blob": blob, "path": "mod.py"}, {"blob": blob, "path": "json.py"},
        {"blob": blob, "path": "work/__init__.py"},
    ]);
    for more in [json!({}), json!({"session": "new"})] {
        let mut params = json!({"argv": ["work/__init__.py"], "input_blobs": files});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let ended = call(&client, "scripts/lint.py", params);
        assert_eq!(ended["stdout"], "['work', 'B'] 1 None None\n", "{ended:#}");
    }
    let params = json!({"name": "acme.net", "script": "scripts/a.py", "input_blobs": files});
    let error = client.refusal("execute_skill", params);
    assert!(error.message.contains("because the skill declares a network"), "{error:?}");
}

#[test]
fn a_long_stream_is_cut_in_the_result_and_kept_whole() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let ended = call(&client, "scripts/long.py", json!({}));
    let stdout = ended["stdout"].as_str().unwrap();
    assert!(stdout.len() <= 16 << 10 && stdout.starts_with("0\n1\n"), "{}", stdout.len());
    assert!(stdout.ends_with("\n19999\n"), "{}", &stdout[stdout.len() - 100..]);
    let blob = ended["output_blobs"][0].as_str().unwrap();
    assert!(stdout.contains(&format!("stdout.txt has all of them: {blob}")), "{stdout:.9000}");
    let whole = String::from_utf8(client.read_bytes(blob)).unwrap();
    assert_eq!(whole.lines().count(), 20_000);
    // Beyond the limit of logs the end is kept.
    let ended = call(&client, "scripts/floods.py", json!({}));
    let (stdout, stderr) = (ended["stdout"].as_str().unwrap(), ended["stderr"].as_str().unwrap());
    assert!(stdout.len() <= 16 << 10 && stdout.ends_with("\nline 399999\n"), "{stdout}");
    assert!(stderr.contains("beyond the limit of logs, and lost]\nTraceback"), "{stderr}");
    assert!(stderr.ends_with("ValueError: the end\n"), "{stderr}");
}

#[test]
fn what_is_no_script_is_refused_with_what_is() {
    let skills = skills();
    skills.action("acme.api", "1.0.0", "def main(args):\n    return 1\n");
    skills.file("acme.api/scripts/tool.py", "print('tool')\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let refused = |params: Value| client.refusal("execute_skill", params);
    for script in
        ["scripts/none.py", "../forms/scripts/fill.py", "/etc/passwd", "scripts", "SKILL.md", ""]
    {
        let error = refused(json!({"name": "forms", "script": script}));
        assert_eq!(
            (error.kind.as_str(), &error.data["parameter"]),
            ("invalid_params", &json!("script"))
        );
        assert!(error.message.contains("`scripts/fill.py`"), "{error:?}");
    }
    let none = refused(json!({"name": "forms"}));
    assert_eq!(none.kind, "not_executable");
    assert!(none.message.contains("name in `script` one of the scripts"), "{none:?}");
    let guide = refused(json!({"name": "skills.protocol.guide", "script": "a.py"}));
    assert_eq!(guide.kind, "not_executable");
    let other = refused(json!({"name": "forms", "argv": ["x"]}));
    assert!(other.message.contains("without `script`"), "{other:?}");
    // An entrypoint is called with its inputs, and not past them.
    let past = refused(json!({"name": "acme.api", "script": "code/main.py"}));
    assert!(past.message.contains("`scripts/tool.py`"), "{past:?}");
    let tool = json!({"name": "acme.api", "script": "scripts/tool.py"});
    assert_eq!(client.call("execute_skill", tool).unwrap()["stdout"], "tool\n");
    let module = json!({"name": "acme.api", "input_blobs": [
        {"blob": client.create_text("x", "text/x-python"), "path": "json.py"}]});
    assert!(refused(module).message.contains("json.py"));
}

#[test]
fn a_call_sets_the_variables_that_the_skill_declares() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let ended = call(&client, "scripts/mode.py", json!({"env": {"MODE": "fast"}}));
    assert_eq!(ended["stdout"], "fast /workspace\n", "{ended:#}");
    assert_eq!(call(&client, "scripts/mode.py", json!({}))["stdout"], "None /workspace\n");
    for name in ["OTHER", "HOME", "PYTHONPATH"] {
        let params = json!({"name": "forms", "script": "scripts/mode.py", "env": {name: "x"}});
        let error = client.refusal("execute_skill", params);
        assert!(
            error.message.contains("one of the variables that the skill declares: `MODE`"),
            "{error:?}"
        );
    }
}

#[test]
fn a_workflow_of_scripts_shares_the_files_of_a_session() {
    let skills = skills();
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let blob = client.create_text("ab", "text/plain");
    let params = json!({
        "argv": ["in.txt", "first.txt"], "session": "new",
        "input_blobs": [{"blob": blob, "path": "in.txt"}],
    });
    let first = call(&client, "scripts/fill.py", params);
    assert_eq!(
        (&first["exit_code"], &first["stdout"]),
        (&json!(0), &json!("wrote first.txt\n")),
        "{first:#}"
    );
    assert_eq!(first["stderr"], "filled 2 letters\n");
    let session = first["session"]["id"].clone();
    let params = json!({"argv": ["first.txt", "second.txt"], "session": session});
    let second = call(&client, "scripts/fill.py", params);
    assert_eq!(second["exit_code"], 0, "{second:#}");
    let file = &second["files"][0];
    assert_eq!(client.read_bytes(file["blob_id"].as_str().unwrap()), b"ABAB!ABAB!!");
    let check = call(&client, "scripts/check.py", json!({"session": session}));
    assert_eq!((&check["status"], &check["exit_code"]), (&json!("failed"), &json!(3)), "{check:#}");
    assert_eq!(
        check["error"]["message"],
        "`scripts/check.py` ended with exit code 3: line 3: no field"
    );
    assert_eq!(check["session"]["state"], "kept", "{check:#}");
    let raised = call(&client, "scripts/raises.py", json!({"session": session}));
    assert_eq!(
        raised["error"]["message"],
        "`scripts/raises.py` ended with exit code 1: ValueError: no field a"
    );
    for (script, more, printed) in [
        ("scripts/relative.py", json!({}), "10\n"),
        ("scripts/dotted.py", json!({}), "8\n"),
        ("scripts/lines.py", json!({"stdin": "abc"}), "cba\n"),
        ("scripts/mode.py", json!({"env": {"MODE": "x"}}), "x /workspace\n"),
        ("scripts/mode.py", json!({}), "None /workspace\n"),
    ] {
        let mut params = more;
        params["session"] = session.clone();
        let ended = call(&client, script, params);
        assert_eq!(ended["stdout"], printed, "{ended:#}");
    }
    // Code of the session works on the same files, and finds nothing else of the scripts.
    let code = "import os, sys\n[sorted(n for n in os.listdir() if n.endswith('.txt')), 'shared' in sys.modules]";
    let seen = client.run_with(code, json!({"session": session}));
    let expected = json!([["first.txt", "in.txt", "report.txt", "second.txt"], false]);
    assert_eq!(seen["output"]["result"], expected, "{seen:#}");
}

#[test]
fn sessions_run_only_what_they_mount_and_without_rights() {
    let skills = skills();
    let manifest = "name = \"acme.net\"\nversion = \"1.0.0\"\ndescription = \"d\"\nkind = \"action\"\n\
                    [permissions]\nnetwork = [\"https://api.example\"]\n";
    skills.file("acme.net/skill.toml", manifest).file("acme.net/scripts/a.py", "print(1)\n");
    skills.file("acme.net/SKILL.md", "---\nname: N\nshort_description: d\n---\n\n# N\n\nText.\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let session = client.run_with("1", json!({"session": "new"}))["session"]["id"].clone();
    let params = json!({"name": "forms", "script": "scripts/dotted.py", "session": session});
    let error = client.refusal("execute_skill", params);
    assert!(error.message.contains("a session that mounts the skill"), "{error:?}");
    let params = json!({"name": "acme.net", "script": "scripts/a.py", "session": "new"});
    let error = client.refusal("execute_skill", params);
    assert!(error.message.contains("declares a network"), "{error:?}");
    let alone = client.call("execute_skill", json!({"name": "acme.net", "script": "scripts/a.py"}));
    assert_eq!(alone.unwrap()["stdout"], "1\n");
    let mounted = client.run_with("1", json!({"session": "new", "mount_skills": ["forms"]}));
    let params = json!({"session": mounted["session"]["id"]});
    assert_eq!(call(&client, "scripts/dotted.py", params)["stdout"], "8\n");
    let params =
        json!({"name": "forms", "script": "scripts/dotted.py", "session": "new", "detach": true});
    assert!(client.refusal("execute_skill", params).message.contains("`detach`"));
}

#[test]
fn harmless_mistakes_of_published_skills_are_warnings() {
    let skills = SkillFolder::new();
    let long = "word ".repeat(300);
    let odd = format!("---\nname: My Forms\ndescription: {long}\nunknown: 1\n---\n\n# Forms\n");
    skills.file("my_forms/SKILL.md", odd).file("my_forms/scripts/a.py", "print('odd')\n");
    skills.file("other-folder/SKILL.md", "---\nname: real-name\ndescription: d\n---\n\n# R\n\nx\n");
    let server = TestServer::start(&["--skills", skills.path()]);
    let client = server.client();
    let ended = client.call("execute_skill", json!({"name": "my-forms", "script": "scripts/a.py"}));
    assert_eq!(ended.unwrap()["stdout"], "odd\n");
    assert!(client.call("describe_skill", json!({"name": "real-name"})).is_ok());
    let place = Command::new();
    let checked = place.run(&["skills", "check", skills.at("my_forms").to_str().unwrap()]).with(0);
    let said = checked.stdout + &checked.stderr;
    assert!(
        said.contains("it is served as `my-forms`") && said.contains("more than 1024"),
        "{said}"
    );
}

#[test]
fn the_command_line_runs_scripts() {
    let (place, skills) = (Command::new(), skills());
    place.file("in.txt", "ab");
    let exec = |words: &[&str], input: &str| {
        let begin = ["--skills", skills.path(), "exec", "forms", "--script"];
        place.run_with_input(&[&begin[..], words].concat(), input)
    };
    let words = ["scripts/fill.py", "--file", "in.txt", "--out", ".", "--", "in.txt", "out.txt"];
    let ended = exec(&words, "").with(0);
    assert!(ended.stdout.starts_with("wrote out.txt\n"), "{}", ended.stdout);
    let written = std::fs::read_to_string(place.folder().join("out.txt")).unwrap();
    assert_eq!(written, "ABAB!");
    let help = exec(&["scripts/fill.py", "--", "--help"], "").with(0);
    assert!(help.stdout.starts_with("usage: fill.py"), "{}", help.stdout);
    let lines = exec(&["scripts/lines.py", "--stdin", "@-"], "abc").with(0);
    assert_eq!(lines.stdout, "cba\n");
    let mode = exec(&["scripts/mode.py", "--env", "MODE=x=y", "--json"], "").with(0).json();
    assert_eq!((&mode["stdout"], &mode["exit_code"]), (&json!("x=y /workspace\n"), &json!(0)));
    let check = exec(&["scripts/check.py"], "").with(1);
    assert!(check.stderr.contains("`scripts/check.py` ended with exit code 3"), "{}", check.stderr);
    let usage = place.run(&["exec", "forms", "--stdin", "x"]).with(2);
    assert!(usage.stderr.contains("--script"), "{}", usage.stderr);
}

#[test]
fn a_reproducible_script_is_verified() {
    let (place, skills) = (Command::new(), skills());
    let at = ["--skills", skills.path()];
    let words = ["exec", "forms", "--script", "scripts/lines.py", "--stdin", "abc"];
    let more = ["--reproducible", "--record", "run.json"];
    place.run(&[&at[..], &words[..], &more[..]].concat()).with(0);
    let same = place.run(&[&at[..], &["verify", "run.json"][..]].concat());
    same.with(0);
}

#[test]
fn the_census_counts_scripts_by_what_a_sandbox_imports() {
    let (place, skills) = (tempfile::tempdir().unwrap(), SkillFolder::new());
    skills.file("words/SKILL.md", DOCUMENT);
    for (path, text) in [
        ("good.py", "import json, numpy.linalg\nfrom helpers.words import shout\nprint(shout)\n"),
        ("helpers/words.py", "import re\n\ndef shout(text):\n    return text.upper()\n"),
        ("part.py", "def run():\n    from json import no_such_name\nrun()\n"),
        ("tried.py", "try:\n    import torch\nexcept ImportError:\n    pass\nprint(1)\n"),
        ("through.py", "import helpers.deep\nprint(1)\n"),
        ("helpers/deep.py", "import torch\nCONSTANT = 1\n"),
        ("starts.py", "import subprocess\ncommand = ['git', 'log']\nsubprocess.run(command)\n"),
        ("python.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'good.py'])\n"),
        ("tests/test_good.py", "import torch\nprint(1)\n"),
        ("broken.py", "print 'Python 2'\n"),
    ] {
        skills.file(&format!("words/scripts/{path}"), text);
    }
    skills.file("outside.py", "import torch\nprint(1)\n");
    let ended = untouched_script("scripts/skills-census", place.path())
        .args(["--json", skills.path()])
        .output()
        .unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let found: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let row = &found["collections"][0];
    let counts = ["scripts", "import", "start_programs", "import_and_start_none"];
    assert_eq!(counts.map(|key| row[key].as_u64().unwrap()), [6, 3, 1, 2], "{found:#}");
    let scripts = found["scripts"].as_object().unwrap().values().next().unwrap();
    for (name, lacks, programs) in [
        ("good.py", json!([]), json!([])),
        ("part.py", json!(["json:no_such_name"]), json!([])),
        ("through.py", json!(["torch"]), json!([])),
        ("tried.py", json!(["torch"]), json!([])),
        ("starts.py", json!([]), json!(["git"])),
        ("python.py", json!([]), json!(["Python"])),
    ] {
        let scripts = scripts.as_array().unwrap();
        let one = scripts.iter().find(|one| one["path"].as_str().unwrap().ends_with(name)).unwrap();
        let lacking: Vec<&String> = one["lacks"].as_object().unwrap().keys().collect();
        assert_eq!((json!(lacking), &one["programs"]), (lacks, &programs), "{name}");
    }
    let empty = untouched_script("scripts/skills-census", place.path()).arg("missing").output();
    let empty = empty.unwrap();
    assert!(!empty.status.success());
    let said = String::from_utf8_lossy(&empty.stderr).into_owned();
    assert!(said.contains("missing: there is no such folder or archive"), "{said}");
}
