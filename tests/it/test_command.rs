//! `wardian test`: cases of skills and Python files, and tests that try to cheat.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::images::{cache_without_images, link_files};
use crate::support::cache::own_cache;
use crate::support::{Command, Ended, WARDIAN, contained, repository};

/// Types `wardian test --json` with more arguments.
fn results(place: &Command, more: &[&str], code: i32) -> Value {
    place.run(&[&["test", "--json"], more].concat()).with(code).json()
}

/// The outcomes of tests, by their names.
fn outcomes(results: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let tests = results["tests"].as_array().unwrap();
    tests.iter().map(|test| (text(&test["id"]), text(&test["outcome"]))).collect()
}

const UNITTEST: &str = "import unittest, sys, random, time, code_of_mine
class TestA(unittest.TestCase):
    def test_bad(self):
        print('printed')
        self.assertEqual({'a': [1, 2]}, {'a': [1, 3]})
    def test_ok(self):
        self.assertEqual(code_of_mine.ANSWER, 42)
    @unittest.skip('because')
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_xfail(self): assert False
    @unittest.expectedFailure
    def test_xpass(self): pass
    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)
    def test_exit(self): sys.exit(0)
    def test_same(self): self.fail(f'{random.random()} {time.time()}')
class TestB(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError('no')
    def test_never(self): pass
";

#[test]
fn unittest_runs_in_the_sandbox_and_each_test_is_told() {
    let place = Command::new();
    place.file("setup.cfg", "");
    place.file("src/code_of_mine.py", "ANSWER = 42\n");
    place.file("tests/test_unit.py", UNITTEST);
    let first = results(&place, &[], 1);
    let expected = [
        ("TestA::test_bad", "failed"),
        ("TestA::test_exit", "failed"),
        ("TestA::test_ok", "passed"),
        ("TestA::test_same", "failed"),
        ("TestA::test_skipped", "skipped"),
        ("TestA::test_sub", "failed"),
        ("TestA::test_xfail", "xfailed"),
        ("TestA::test_xpass", "failed"),
        ("TestB::test_never", "error"),
    ];
    let expected = expected.map(|(name, end)| (format!("tests/test_unit.py::{name}"), end.into()));
    assert_eq!(outcomes(&first), expected);
    assert_eq!(
        (&first["passed"], &first["failed"], &first["skipped"]),
        (&json!(1), &json!(6), &json!(2))
    );
    let bad = &first["tests"][0];
    assert_eq!(bad["line"], 5, "{bad}");
    assert!(bad["details"].to_string().contains("printed"), "{bad}");
    assert_eq!(first, results(&place, &["tests"], 1), "the runs are reproducible");
    let other = results(&place, &["--seed", "1", "-k", "test_SAME"], 1);
    assert_ne!(other["tests"][0], first["tests"][3], "another seed gives other numbers");
    let shown = place.run(&["test", "tests/test_unit.py"]).with(1);
    let wanted = [
        "FAILED  tests/test_unit.py::TestA::test_bad",
        "| AssertionError: {'a': [1, 2]}",
        "skipped tests/test_unit.py::TestA::test_skipped (0 ms): because",
        "1 passed, 6 failed, 2 skipped",
    ];
    assert!(contained(&shown.stdout, wanted).is_empty(), "{}", shown.stdout);
    let listed = place.run(&["test", "--list", "-k", "test_s"]).with(0);
    assert_eq!(listed.stdout.lines().count(), 3, "{}", listed.stdout);
}

const PYTEST: &str = "import os, sys, pytest
def test_fixtures(shared, tmp_path, capsys, monkeypatch):
    (tmp_path / 'a').write_text('x')
    print('hi')
    assert capsys.readouterr().out == 'hi\\n'
    monkeypatch.setenv('A', 'b')
    assert os.environ['A'] == 'b' and shared == [1]
def test_fixture_is_kept(shared):
    assert shared == [1] and 'A' not in os.environ
@pytest.mark.parametrize('a,b', [(1, 1), (1, 2)])
def test_par(a, b):
    assert a == b
@pytest.mark.skipif(sys.platform == 'wasi', reason='wasi')
def test_skipif(): pass
@pytest.mark.xfail(reason='known')
def test_xfail(): assert 0
@pytest.fixture
def bad(): raise RuntimeError('setup')
def test_setup(bad): pass
@pytest.fixture
def late():
    yield
    raise RuntimeError('teardown')
def test_teardown(late): pass
class TestC:
    def test_approx(self): assert pytest.approx(0.3) == 0.1 + 0.2
    def test_raises(self):
        with pytest.raises(ValueError, match='x'):
            raise ValueError('xx')
def test_shown():
    values = {'x': [1, 2, 3]}
    assert values == {'x': [1, 2, 4]}
";

#[test]
fn pytest_runs_in_the_sandbox_with_fixtures_marks_and_values_of_asserts() {
    let place = Command::new();
    place.file("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"--no-such-option\"\n");
    let conftest = "import pytest\n@pytest.fixture(scope='module')\ndef shared():\n    yield [1]\n";
    place.file("tests/conftest.py", conftest);
    place.file("tests/test_py.py", PYTEST);
    place.file("tests/broken_test.py", "def test_a(): pass\nimport no_such_module\n");
    let found = results(&place, &["--junit", "report.xml"], 1);
    let expected = [
        ("test_fixtures", "passed"),
        ("test_fixture_is_kept", "passed"),
        ("test_par[1-1]", "passed"),
        ("test_par[1-2]", "failed"),
        ("test_skipif", "skipped"),
        ("test_xfail", "xfailed"),
        ("test_setup", "error"),
        ("test_teardown", "error"),
        ("TestC::test_approx", "passed"),
        ("TestC::test_raises", "passed"),
        ("test_shown", "failed"),
    ];
    let expected =
        expected.map(|(name, end)| (format!("tests/test_py.py::{name}"), end.to_owned()));
    let all = outcomes(&found);
    assert_eq!(all[0], ("tests/broken_test.py".to_owned(), "error".to_owned()));
    assert!(found["tests"][0]["details"].to_string().contains("No module named 'no_such_module'"));
    assert_eq!(all[1..], expected);
    let shown = found["tests"][11].to_string();
    assert!(shown.contains("{'x': [1, 2, 3]} == {'x': [1, 2, 4]}"), "{shown}");
    assert_eq!(found["tests"][11]["line"], 32);
    let xml = fs::read_to_string(place.folder().join("report.xml")).unwrap();
    let wanted = [
        "tests=\"12\" failures=\"2\" errors=\"3\"",
        "tests=\"11\" failures=\"2\" errors=\"2\"",
        "skipped=\"2\"",
        "<testcase classname=\"tests/test_py.py::TestC\" name=\"test_approx\"",
    ];
    assert!(contained(&xml, wanted).is_empty(), "{xml}");
}

/// Files whose tests all have to be reported as failed, whatever they do.
const CHEATS: [(&str, &str); 9] = [
    ("test_os_exit.py", "import os\ndef test_a(): os._exit(0)\n"),
    ("test_exit.py", "import sys\ndef test_a(): sys.exit(0)\n"),
    ("test_exit_early.py", "import sys\ndef test_a(): pass\nsys.exit(0)\n"),
    ("test_stop.py", "import pytest\ndef test_a(): pytest.exit('x', returncode=0)\n"),
    ("test_interrupt.py", "def test_a(): raise KeyboardInterrupt\n"),
    ("test_builtins.py", "import builtins\ndef test_a():\n    builtins.len = lambda x: 0\n"),
    (
        "test_report.py",
        "import sys\ndef test_a():
    from _wardian import door
    sys.__stdout__.write('{\"word\": \"\", \"errors\": [], \"tests\": []}\\n')
    door.ask(b'\\x02{\"word\":\"\",\"errors\":[],\"tests\":[]}')
    assert 0, '::error file=x::\\x1b[31m ##[error]no ]]> &'\n",
    ),
    (
        "test_runner_replaced.py",
        "def test_a():
    from _pytest.reports import TestReport
    old = TestReport.from_item_and_call.__func__
    def forged(cls, item, call):
        call.excinfo = None
        return old(cls, item, call)
    TestReport.from_item_and_call = classmethod(forged)
    assert 0\n",
    ),
    (
        "test_case_replaced.py",
        "import unittest\nclass A(unittest.TestCase):
    def test_a(self):
        unittest.TestCase.assertEqual = lambda *all: None
        self.assertEqual(1, 2)\n",
    ),
];

#[test]
fn no_test_passes_by_cheating_or_writes_commands_of_others() {
    let place = Command::new().set("GITHUB_ACTIONS", "true");
    for (name, text) in CHEATS {
        place.file(name, text);
    }
    let ended = place.run(&["test", "--junit", "report.xml"]).with(1);
    assert!(ended.stdout.contains("0 passed, "), "{}", ended.stdout);
    for (name, _) in CHEATS {
        let is_told = ended.stdout.lines().any(|line| {
            (line.starts_with("FAILED") || line.starts_with("ERROR")) && line.contains(name)
        });
        assert!(is_told, "{name}: {}", ended.stdout);
        assert!(ended.stderr.contains(&format!("::error file={name}")), "{name}: {}", ended.stderr);
    }
    let printed = ended.stdout.lines().chain(ended.stderr.lines());
    for line in printed {
        assert!(!line.trim_start().starts_with("::error file=x"), "{line}");
        assert!(!line.contains("##["), "{line}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    let xml = fs::read_to_string(place.folder().join("report.xml")).unwrap();
    assert!(!xml.chars().any(|letter| letter.is_control() && letter != '\n'), "{xml:?}");
    assert!(xml.contains("failures=") && !xml.contains("no ]]>"), "{xml}");
}

#[test]
fn a_test_that_does_not_end_is_stopped_and_others_go_on() {
    let place = Command::new();
    place.file(
        "test_long.py",
        "import unittest\nclass A(unittest.TestCase):
    def test_long(self):
        while True: pass\n",
    );
    place.file(
        "test_short.py",
        "import unittest\nclass A(unittest.TestCase):
    def test_short(self): pass\n",
    );
    let found = results(&place, &["--timeout", "20"], 1);
    assert_eq!((&found["passed"], &found["failed"]), (&json!(1), &json!(1)), "{found}");
    let message = found["tests"][0]["message"].as_str().unwrap();
    assert!(message.contains("during `test_long.py::A::test_long`"), "{message}");
    assert!(message.contains("Timeout"), "{message}");
}

/// A skill with a case that passes, one that fails, and a file with tests.
fn skill(place: &Command) {
    place.run(&["skills", "new", "acme.sum.up"]).with(0);
    // The folder makes the skill one of its own, so that no result is kept from before.
    let code = format!(
        "# {}\ndef main(args):\n    return {{'keys': list(args), 'sum': sum(args.values()), 'n': [1, 2]}}\n",
        place.folder().display()
    );
    place.file("acme.sum.up/code/main.py", code);
    let manifest = "name = \"acme.sum.up\"\nversion = \"0.1.0\"\ndescription = \"Adds.\"\n\
        kind = \"action\"\n[runtime]\nlanguage = \"python\"\nentrypoint = \"code/main.py\"\n\
        export = \"main\"\n[inputs]\nz = { type = \"number\" }\na = { type = \"number\" }\n";
    place.file("acme.sum.up/skill.toml", manifest);
    let good = r#"{"args": {"z": 1, "a": 0.5}, "expect": {"status": "completed",
        "output": {"keys": ["z", "a"], "sum": 1.5}}}"#;
    place.file("acme.sum.up/resources/tests/good.json", good);
    let bad = "{\n  \"args\": {\"z\": 1, \"a\": 2},\n  \"expect\": {\n    \"output\": {\"sum\": 4, \
               \"n\": [1]},\n    \"status\": \"completed\"\n  }\n}\n";
    place.file("acme.sum.up/resources/tests/bad.json", bad);
    let test = "import unittest\nfrom skills.acme.sum.up.main import main\n\
                class A(unittest.TestCase):\n    def test_main(self):\n        \
                import main as same\n        \
                self.assertEqual(main({'a': 1})['sum'], same.main({'b': 1})['sum'])\n";
    place.file("acme.sum.up/tests/test_main.py", test);
}

#[test]
fn cases_of_skills_run_beside_their_python_tests_and_are_updated() {
    let place = Command::new();
    skill(&place);
    let ended: Ended = place.run(&["test"]).with(1);
    let wanted = [
        "FAILED  acme.sum.up::bad",
        "| output.sum: expected 4, got 3",
        "| -   \"sum\": 4",
        "ok      acme.sum.up::good",
        "ok      acme.sum.up/tests/test_main.py::A::test_main",
        "2 passed, 1 failed",
    ];
    assert!(contained(&ended.stdout, wanted).is_empty(), "{}\n{}", ended.stdout, ended.stderr);
    let updated = place.run(&["test", "--update"]).with(0);
    let wanted = [
        "::bad (",
        "): updated",
        "| acme.sum.up/resources/tests/bad.json, - as it was, + as it is now:",
        "| -",
        "| +",
        "3 passed, 0 failed; ",
        "; 1 updated",
    ];
    assert!(contained(&updated.stdout, wanted).is_empty(), "{}", updated.stdout);
    let text = fs::read_to_string(place.folder().join("acme.sum.up/resources/tests/bad.json"));
    let expected = "{\n  \"args\": {\"z\": 1, \"a\": 2},\n  \"expect\": {\n    \"output\": \
                    {\"sum\": 3, \"n\": [1,2]},\n    \"status\": \"completed\"\n  }\n}\n";
    assert_eq!(text.unwrap(), expected, "only the values that differ were written");
    place.run(&["test", "acme.sum.up", "-k", "ACME.SUM.UP::"]).with(0);
    // A run that fails is no output to accept.
    place.file("acme.sum.up/code/main.py", "def main(args):\n    raise ValueError('x')\n");
    let failed = place.run(&["test", "--update", "-k", "::good"]).with(1);
    assert!(failed.stdout.contains("expected completed, got failed"), "{}", failed.stdout);
}

#[test]
fn what_is_wrong_with_the_tests_is_told_in_a_line_and_nothing_runs() {
    let place = Command::new();
    place.file("empty/readme.txt", "");
    place.file("notes.txt", "");
    place.file("a/test_a.py", "");
    place.file("s/skill.toml", "name = 7\n");
    for (arguments, wanted) in [
        (&["empty"][..], "there are no tests in empty"),
        (&["gone"], "gone: No such file"),
        (&["notes.txt"], "notes.txt: is neither a Python file, a notebook nor a folder"),
        (&["a", "--root", "empty"], "is not below the folder"),
        (&["s"], "see `wardian skills check`"),
        (
            &["a", "--junit", "gone/report.xml"],
            "gone/report.xml: the report cannot be written there",
        ),
        (&["a", "--timeout", "0"], "--timeout"),
        (&["a", "--seed", "9007199254740992"], "--seed"),
        (&["a", "--epoch", "9000000001"], "--epoch"),
        (&["a", "--list", "--update"], "--update"),
    ] {
        let ended = place.run(&[&["test"], arguments].concat()).with(2);
        assert!(ended.stderr.contains(wanted), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{arguments:?}");
    }
    skill(&place);
    place.file("acme.sum.up/resources/tests/worse.json", "{\"expects\": 1}");
    let malformed = place.run(&["test", "acme.sum.up"]).with(2);
    let wanted = ["no test was run; these are malformed", "worse.json: unknown field `expects`"];
    assert!(contained(&malformed.stderr, wanted).is_empty(), "{}", malformed.stderr);
    place.file(
        "a/test_a.py",
        "import unittest\nclass A(unittest.TestCase):\n    def test_x(self): pass\n",
    );
    place.run(&["skills", "new", "acme.untested"]).with(0);
    let some = place.run(&["test", "a", "acme.untested", "empty"]).with(1);
    assert!(some.stdout.contains("1 passed, 0 failed"), "{some:?}");
    let wanted = ["acme.untested: has no tests\n", "empty: has no tests\n"];
    assert!(contained(&some.stderr, wanted).is_empty(), "{}", some.stderr);
    place.run(&["test", "a", "acme.untested", "-k", "test_x"]).with(0);
    let none = place.run(&["test", "a", "-k", "test_y"]).with(1);
    assert!(none.stderr.contains("no test has a name that contains `test_y`"), "{}", none.stderr);
}

/// The number of tests that were not executed.
fn cached(results: &Value) -> u64 {
    results["cached"].as_u64().unwrap()
}

#[test]
fn only_what_changed_is_executed_again() {
    let place = Command::new();
    skill(&place);
    place.run(&["test", "--update", "--no-cache"]).with(0);
    place.file("p/setup.cfg", "");
    place.file("p/code.py", format!("X = 1  # {}\n", place.folder().display()));
    let test = "import unittest\nclass A(unittest.TestCase):\n    def test_x(self): pass\n";
    place.file("p/test_a.py", test);
    place.file("p/test_b.py", format!("{test}# b\n"));
    place.file("p/test_bad.py", test.replace("pass", "self.fail()"));
    let run = |more: &[&str], code| results(&place, more, code);
    assert_eq!(cached(&run(&[], 1)), 0);
    let again = run(&[], 1);
    assert_eq!((cached(&again), &again["passed"]), (5, &json!(5)), "failures are executed again");
    assert_eq!(cached(&run(&["--no-cache"], 1)), 0);
    for other in [&["--seed", "1"][..], &["--epoch", "5"], &["--timeout", "60"]] {
        assert_eq!(cached(&run(other, 1)), 0, "{other:?}");
    }
    place.file("p/test_b.py", format!("{test}# c\n"));
    assert_eq!(cached(&run(&["p"], 1)), 1, "one file with tests has changed");
    // As above, text that no other place has: results are kept in a folder that outlives the test, and
    // those of an earlier one would be found.
    place.file("p/code.py", format!("X = 2  # {}\n", place.folder().display()));
    assert_eq!(cached(&run(&["p"], 1)), 0, "both tests could read it");
    let case = place.folder().join("acme.sum.up/resources/tests/good.json");
    let text = fs::read_to_string(&case).unwrap();
    fs::write(&case, text.replace("0.5", "0.50")).unwrap();
    assert_eq!(cached(&run(&["acme.sum.up"], 0)), 0, "the skill can read its cases");
    assert_eq!(cached(&run(&["acme.sum.up"], 0)), 3);
}

#[test]
fn kept_results_are_compared_with_new_ones_and_broken_ones_do_not_count() {
    let place = Command::new();
    let test = "import unittest\nclass A(unittest.TestCase):\n    def test_x(self): pass\n";
    // A name of its own, so that no other test has this result.
    place.file("test_verified.py", format!("{test}# {}\n", place.folder().display()));
    let first = results(&place, &[], 0);
    assert_eq!(cached(&first), 0);
    assert_eq!(cached(&results(&place, &[], 0)), 1);
    let compared = results(&place, &["--verify-cache", "100%"], 0);
    assert_eq!((cached(&compared), &compared["passed"]), (0, &json!(1)));
    for wrong in ["101%", "x", "-1"] {
        place.run(&["test", "--verify-cache", wrong]).with(2);
    }
}

#[test]
fn settings_that_tests_notice_are_part_of_the_key() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.one"]).with(0);
    let code = format!("# {}\ndef main(args):\n    return {{'n': 1}}\n", place.folder().display());
    place.file("acme.one/code/main.py", code);
    let case = r#"{"args": {"name": "a"}, "expect": {"status": "completed", "output": {"n": 1}}}"#;
    place.file("acme.one/resources/tests/a.json", case);
    assert_eq!(cached(&results(&place, &[], 0)), 0);
    assert_eq!(cached(&results(&place, &[], 0)), 1);
    for setting in [
        "network.enabled=false",
        "network.denied=https://a.example",
        "network.limits.requests=7",
        "blobs.max_size=1MiB",
        "blobs.quota=2GiB",
    ] {
        let other = place.run(&["--set", setting, "test", "--json"]).with(0).json();
        assert_eq!(cached(&other), 0, "{setting}");
    }
}

#[test]
fn ends_by_the_machine_are_neither_kept_nor_accepted() {
    let place = Command::new();
    place.run(&["skills", "new", "acme.endless"]).with(0);
    let code = format!("# {}\ndef main(args):\n    while True: pass\n", place.folder().display());
    place.file("acme.endless/code/main.py", code);
    let kept = r#"{"args": {"name": "a"}, "expect": {"status": "failed"}}"#;
    place.file("acme.endless/resources/tests/kept.json", kept);
    let output = r#"{"args": {"name": "a"}, "expect": {"status": "failed", "output": 5}}"#;
    let path = place.file("acme.endless/resources/tests/output.json", output);
    for _ in 0..2 {
        let ended = results(&place, &["--timeout", "2", "--update"], 1);
        assert_eq!(cached(&ended), 0, "{ended}");
        let [kept, output] = ["kept", "output"].map(|name| {
            let tests = ended["tests"].as_array().unwrap();
            tests.iter().find(|test| test["id"] == format!("acme.endless::{name}")).unwrap()
        });
        assert_eq!((&kept["outcome"], &output["outcome"]), (&json!("passed"), &json!("failed")));
    }
    assert_eq!(fs::read_to_string(path).unwrap(), output);
}

/// Files with tests that unittest does not find, each with one that fails.
const UNFOUND: [(&str, &str); 6] = [
    ("test_star.py", "from cases import *\n"),
    ("test_if.py", "if True:\n    def test_bad(): assert 0\n"),
    (
        "test_try.py",
        "try:\n    import nothing\nexcept ImportError:\n    def test_bad(): assert 0\n",
    ),
    ("test_named.py", "from cases import TestThings\n"),
    ("test_made.py", "def made():\n    assert 0\nglobals()['test_bad'] = made\n"),
    (
        "test_mixed.py",
        "import unittest\nfrom cases import *\nclass A(unittest.TestCase):
    def test_good(self): pass\n",
    ),
];

#[test]
fn a_file_in_which_no_test_is_found_does_not_pass() {
    let place = Command::new();
    place.file("setup.cfg", "");
    place.file(
        "cases.py",
        "def test_bad(): assert 0\nclass TestThings:\n    def test_bad(self): assert 0\n",
    );
    for (name, text) in UNFOUND {
        place.file(name, text);
    }
    // A class of unittest whose module has names that only look like tests stays with unittest.
    let plain = "import unittest\nfrom unittest import *\ntest_data = 1\nclass TestClient:
    def __init__(self): pass\n    def test(self): pass\nclass A(unittest.TestCase):
    def test_good(self): pass\n";
    place.file("plain/test_plain.py", plain);
    place.file("test_none.py", "import unittest\n");
    let found = results(&place, &[], 1);
    let all = outcomes(&found);
    for (name, _) in UNFOUND {
        let bad = |one: &&(String, String)| one.0.starts_with(name) && one.0.contains("test_bad");
        assert!(all.iter().find(bad).is_some_and(|one| one.1 == "failed"), "{name}: {found}");
    }
    assert!(all.contains(&("plain/test_plain.py::A::test_good".to_owned(), "passed".to_owned())));
    let none = found["tests"].as_array().unwrap().iter().find(|one| one["id"] == "test_none.py");
    let none = none.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(none["outcome"], "error");
    assert!(none["message"].as_str().unwrap().contains("the file has no test"), "{none}");
    let chosen = results(&place, &["-k", "test_good"], 0);
    assert_eq!(chosen["passed"], 2, "{chosen}");
}

/// Runs the check of the examples for services on a document.
fn check_examples(document: &str, place: &Command) -> (bool, String) {
    let file = place.file("ci.md", document);
    let ended = std::process::Command::new("python3")
        .arg(repository("scripts/check-ci"))
        .args(["--offline", "--document"])
        .arg(file)
        .env("WARDIAN", WARDIAN)
        .output()
        .unwrap();
    (ended.status.success(), String::from_utf8_lossy(&ended.stdout).into_owned())
}

#[test]
fn the_examples_for_continuous_integration_have_commands_that_exist() {
    let place = Command::new();
    let document = fs::read_to_string(repository("docs/ci.md")).unwrap();
    let (is_good, said) = check_examples(&document, &place);
    assert!(is_good && said.matches("is a command").count() == 6, "{said}");
    for (old, new) in [
        ("- wardian test --junit report.xml", "- wardian test --junix report.xml"),
        ("- run: wardian engine install --metered", "- run: wardian engine instal --metered"),
        ("# .gitlab-ci.yml\n", "# .gitlab.yml\n"),
    ] {
        assert!(document.contains(old), "{old}");
        let (is_good, said) = check_examples(&document.replace(old, new), &place);
        assert!(!is_good && said.contains("BAD "), "{new}: {said}");
    }
}

#[test]
fn pytest_is_compiled_once_for_all_files_and_uses_the_same_fuel_again() {
    let place = Command::new();
    place.file("pytest.ini", "");
    for number in 0..3 {
        let test = format!(
            "import sys, pytest\ndef test_{number}(requests_mock):\n    assert requests_mock and \
             sys.dont_write_bytecode\n    assert pytest.__spec__.cached.startswith('/tmp/.bytecode')\n"
        );
        place.file(&format!("test_{number}.py"), test);
    }
    // A cache of its own has what no other test has kept.
    let cache = cache_without_images();
    for image in fs::read_dir(own_cache().join("images")).unwrap() {
        let image = image.unwrap();
        link_files(&image.path(), &cache.path().join("images").join(image.file_name()));
    }
    let folder = cache.path().join("tests");
    let run = |settings: &[&str], more: &[&str]| {
        let here = ["--cache-dir", cache.path().to_str().unwrap()];
        let ended = place.run(&[&here[..], settings, &["test", "--json"], more].concat()).with(0);
        assert_eq!(ended.json()["passed"], 3, "{}", ended.stdout);
        ended
    };
    let first = run(&[], &[]).stderr;
    assert!(!first.contains("warning"), "{first}");
    let (kept, fuel) = (folder.join("pytest.bytecode"), fuel_of_results(&folder));
    let bytes = fs::read(&kept).unwrap();
    // What is kept, what is made anew and what nobody should have changed lead to the same fuel, which
    // is compared.
    let compare = || {
        let again = run(&[], &["--verify-cache", "100%"]);
        assert_eq!(cached(&again.json()), 0);
        assert!(fs::read(&kept).unwrap() == bytes, "the same bytes");
    };
    compare();
    fs::remove_file(&kept).unwrap();
    compare();
    let mut forged = bytes.clone();
    *forged.last_mut().unwrap() ^= 1;
    fs::write(&kept, forged).unwrap();
    compare();
    run(&[], &["--seed", "7", "--epoch", "5"]);
    assert!(fs::read(&kept).unwrap() == bytes, "those of another seed and time of day");
    // Where no blob may be as large, each file compiles pytest.
    fs::remove_file(&kept).unwrap();
    for entry in fs::read_dir(&folder).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for number in 0..3 {
        place.file(
            &format!("test_{number}.py"),
            format!("def test_{number}(requests_mock): pass\n"),
        );
    }
    let without = run(&["--set", "blobs.max_size=1 MiB"], &[]);
    assert!(
        without.stderr.contains("pytest is compiled again for each file"),
        "{}",
        without.stderr
    );
    let compiled = fuel_of_results(&folder);
    assert!(
        fuel.iter().max().unwrap() * 3 < *compiled.iter().min().unwrap(),
        "{fuel:?} {compiled:?}"
    );
}

/// The fuel of the results that are kept in a folder.
fn fuel_of_results(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let results = entries.filter(|path| path.extension().is_some_and(|ending| ending == "result"));
    let of = |path: PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let result: Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
        result["fuel"].as_u64().unwrap()
    };
    results.map(of).collect()
}

#[test]
fn a_missing_module_is_told_by_our_hint_and_not_by_that_of_python() {
    let place = Command::new();
    let imports = "import no_such_module\n";
    let parts = "import tkinter\n";
    place.file(
        "test_case.py",
        format!(
            "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): {imports}    \
             def test_b(self): {parts}"
        ),
    );
    place.file("test_function.py", format!("def test_a(): {imports}def test_b(): {parts}"));
    place.file("test_top.py", imports);
    for test in results(&place, &["--no-cache"], 1)["tests"].as_array().unwrap() {
        let id = test["id"].as_str().unwrap();
        let details = test["details"].as_array().unwrap().iter().filter_map(Value::as_str);
        let said = details.collect::<Vec<_>>().join("\n");
        let hint = match id.ends_with("test_b") {
            true => "No module named 'tkinter': it is not installed; there is no display",
            false => "No module named 'no_such_module': it is not installed, and nothing can be",
        };
        assert!(said.contains(hint), "{id}: {said}");
        for theirs in ["Site initialization", "virtual environment", "Standard library module"] {
            assert!(!said.contains(theirs), "{id}: {said}");
        }
    }
}

#[test]
fn no_unit_sees_or_fills_what_another_one_stores() {
    let place = Command::new();
    place.file("setup.cfg", "");
    for letter in ["a", "b", "c"] {
        let test = format!(
            "import runtime\ndef test_{letter}():\n    \
             runtime.blobs.write_text('{letter}' * 700_000, 'text/plain')\n"
        );
        place.file(&format!("test_{letter}.py"), test);
    }
    // Each stores most of the quota. One after the other in one store, the second has no room.
    let settings = ["--set", "blobs.quota=1 MiB", "--set", "workers.count=1"];
    let ended = place.run(&[&settings[..], &["test", "--json", "--no-cache"]].concat()).with(0);
    assert_eq!(ended.json()["passed"], 3, "{}", ended.stdout);
}
