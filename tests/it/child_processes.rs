//! Child processes of programs: in skills with scripts, in sessions, and in reproducible runs. The programs in
//! `tests/fixtures/programs/children` have the rest.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{SkillFolder, TestServer, eventually, failed, output};

const MAIN: &str = "
import subprocess, sys
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent / 'scripts'

def main(args):
    def call(script, *words):
        done = subprocess.run([sys.executable, str(SCRIPTS / script), *words], capture_output=True, text=True)
        return [done.returncode, done.stdout, done.stderr]
    return {
        'made': call('make.py', 'report.txt', '3'),
        'checked': call('check.py', 'report.txt'),
        'direct': subprocess.check_output([str(SCRIPTS / 'check.py'), 'report.txt'], text=True),
        'refused': call('make.py')[0],
        'left': Path('report.txt').read_text(),
        'loaded': 'shared' in sys.modules,
    }
";

#[test]
fn a_skill_starts_its_own_scripts() {
    let skills = SkillFolder::new();
    skills
        .action("acme.reports", "1.0.0", MAIN)
        .file("acme.reports/scripts/shared/__init__.py", "LINE = 'line {}\\n'\n")
        .file(
            "acme.reports/scripts/make.py",
            "import argparse, pathlib, shared\np = argparse.ArgumentParser()\np.add_argument('path')\n\
             p.add_argument('count', type=int)\na = p.parse_args()\npathlib.Path(a.path).write_text(\
             ''.join(shared.LINE.format(n) for n in range(a.count)))\nprint('made', a.path)\n",
        )
        .file(
            "acme.reports/scripts/check.py",
            "#!/usr/bin/env python3\nimport sys\nfrom shared import LINE\n\
             text = open(sys.argv[1]).read()\nprint(text.startswith(LINE.format(0)))\n",
        );
    let server = TestServer::start(&["--skills", skills.path()]);
    let result = server.client().execute("acme.reports", json!({}));
    let expected = json!({
        "made": [0, "made report.txt\n", ""],
        "checked": [0, "True\n", ""],
        "direct": "True\n",
        "refused": 2,
        "left": "line 0\nline 1\nline 2\n",
        "loaded": false,
    });
    let found = output(&result);
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(found[member], *value, "{member}: {result:#}");
    }
}

#[test]
fn cells_of_a_session_start_children() {
    let client = TestServer::shared().client();
    let first = client.run_with(
        "import subprocess, sys\nx = 1\nopen('tool.py', 'w').write('import sys\\nx = 2\\nprint(sys.argv[1:])')",
        json!({"session": "new"}),
    );
    let id = first["session"]["id"].as_str().unwrap().to_owned();
    let cell = |code: &str| client.run_with(code, json!({"session": id}));

    let printed = cell("subprocess.run([sys.executable, 'tool.py', 'a'], check=True); print(x)");
    assert_eq!(printed["logs_preview"], "['a']\n1\n", "{printed:#}");
    let late =
        cell("p = subprocess.Popen([sys.executable, '-c', 'open(\"late\", \"w\").write(\"x\")'])");
    output(&late);
    assert_eq!(output(&cell("open('late').read(), p.poll()"))["result"], json!(["x", 0]));
    let raised = cell("subprocess.run([sys.executable, '-c', '1/0'], check=True)");
    assert_eq!(failed(&raised).0, "CalledProcessError");
    assert!(raised["logs_preview"].as_str().unwrap().contains("ZeroDivisionError"), "{raised:#}");
    assert_eq!(output(&cell("x"))["result"], json!(1));
}

#[test]
fn children_of_a_reproducible_run_are_reproducible() {
    let client = TestServer::shared().client();
    let code = "import subprocess, sys, os, time, random\n\
                code = 'import os, random, time, uuid; print(os.getpid(), random.random(), time.time(), uuid.uuid4())'\n\
                [subprocess.check_output([sys.executable, '-c', code], text=True) for _ in range(2)]";
    let run = || -> Value {
        let params = json!({"language": "python", "code": code, "reproducible": true});
        let result = eventually(Duration::from_secs(600), || {
            match client.call("run_code", params.clone()) {
                Err(busy) if busy.code == 1004 => None,
                ended => Some(ended.unwrap()),
            }
        });
        json!([output(&result).clone(), result["fuel"].clone()])
    };
    let first = run();
    assert_ne!(first[0]["result"][0], first[0]["result"][1], "two children differ: {first}");
    assert_eq!(run(), first);
}
