"""The command line, against a stand-in behind a real socket."""

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

from skills_protocol_conformance import cli, runner
from skills_protocol_conformance.case import CASES, MUST
from skills_protocol_conformance.report import list_as_markdown
from skills_protocol_conformance.runner import chosen
from skills_protocol_conformance.skills_folder import OLDER_VERSION, folder
from skills_protocol_conformance.transport import Reply, Unreachable

from .defects import before, refusing_with
from .refused import Refused, wrong
from .served import KEY, OTHER_KEY, served
from .stand_in import StandIn

PACKAGE = Path(__file__).resolve().parent.parent


def run(*arguments):
    """The exit code, and both streams."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(list(map(str, arguments)))
    return code, out.getvalue(), err.getvalue()


class CommandLine(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = Path(self._folder.name)

    def test_a_right_server_conforms(self):
        keys = [self.folder / name for name in ("key", "other-key")]
        for file, key in zip(keys, (KEY, OTHER_KEY)):
            file.write_text(f"{key}\n")
        with served(StandIn(), wants_key=True) as url:
            asked = ("--url", url, "--level", "extensions", "--key-file", keys[0])
            code, out, err = run(*asked, "--other-key-file", keys[1])
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("0 failed, 0 skipped", out)
        self.assertEqual(out.count("passed "), len(CASES))

    def test_cases_about_two_tenants_are_named_where_they_cannot_be_run(self):
        with served(StandIn()) as url:
            code, out, _ = run("--url", url, "--level", "extensions", "--filter", "sessions.t")
        self.assertEqual(code, 0, out)
        self.assertNotIn("passed  sessions.tenants", out)
        self.assertIn("a key of another tenant: sessions.tenants.", out)

    def test_a_server_without_sessions_does_not_fail_their_cases(self):
        def refuse(params):
            if "session" in params:
                raise wrong("session", "is unknown")

        def ignore(params):
            return {name: value for name, value in params.items() if name != "session"}

        for name, spoil in (("refusing", refuse), ("ignoring", ignore)):
            server = StandIn()
            before(server, "run_code", spoil)
            server.of_sessions = lambda *_: Reply(404, {"content-type": "application/json"}, b"{}")
            report = self.folder / f"{name}.json"
            with served(server) as url:
                asked = ("--url", url, "--level", "extensions", "--filter", "sessions.")
                code, out, _ = run(*asked, "--json", report)
            self.assertEqual(code, 0, out)
            self.assertIn("does not have the extension `sessions`", out)
            cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
            found = {(case["status"], case["extension"]) for case in cases}
            self.assertEqual(found, {("skipped", "sessions")})

    def test_sessions_that_are_broken_are_not_missing(self):
        def fail(params):
            raise Refused(-32603, "internal", "the session could not be made")

        def refuse(params):
            # It lists sessions nevertheless.
            raise wrong("session")

        for spoil in (
            lambda server: before(server, "cell", fail),
            lambda server: before(server, "cell", refuse),
        ):
            server = StandIn()
            spoil(server)
            with served(server) as url:
                asked = ("--url", url, "--level", "extensions", "--filter", "sessions.new")
                code, out, _ = run(*asked)
            self.assertIn("failed  sessions.new", out)
            self.assertEqual(code, 1)

    def test_the_module_is_a_program(self):
        with served(StandIn()) as url:
            ended = subprocess.run(
                [sys.executable, "-B", "-m", "skills_protocol_conformance", "--url", url, "--filter", "rpc."],
                cwd=PACKAGE,
                capture_output=True,
                text=True,
            )
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_a_failure_is_told_with_sentence_request_answer_and_expectation(self):
        server = StandIn()
        refusing_with(server, "method_not_found", code=-1)
        reports = [self.folder / name for name in ("report.md", "junit.xml", "report.json")]
        with served(server) as url:
            code, out, _ = run(
                *("--url", url, "--filter", "rpc.method-unknown", "--filter", "rpc.endpoint"),
                *("--report", reports[0], "--junit", reports[1], "--json", reports[2]),
            )
        self.assertEqual(code, 1)
        texts = [report.read_text(encoding="utf-8") for report in reports]
        for text in (out, *texts):
            for part in (
                "rpc.method-unknown",
                "The method does not exist / is not available.",
                "-32601",
                "no_such_method",
            ):
                self.assertIn(part, text)
        self.assertIn("MUST        1 passed, 1 failed, 0 skipped", out)
        self.assertIn("| MUST | 1 | 1 | 0 |", texts[0])
        root = ElementTree.fromstring(texts[1])
        self.assertEqual([(suite.get("tests"), suite.get("failures")) for suite in root], [("2", "1")])
        report = json.loads(texts[2])
        self.assertEqual(report["levels"], {"must": {"passed": 1, "failed": 1, "skipped": 0}})
        self.assertEqual([case["status"] for case in report["cases"]], ["passed", "failed"])

    def test_answers_of_any_bytes_fit_into_the_reports(self):
        server = StandIn()
        server.rpc = lambda headers, body: type(
            "Reply", (), {"status": 200, "headers": {}, "body": b"\x00\xff\x1b[31m```|\n"}
        )
        skills = mock.patch.object(cli, "missing_skills", return_value=[])
        reports = [self.folder / name for name in ("report.md", "junit.xml", "report.json")]
        with served(server) as url, skills:
            code, out, _ = run(
                *("--url", url, "--filter", "list."),
                *("--report", reports[0], "--junit", reports[1], "--json", reports[2]),
            )
        self.assertEqual(code, 1)
        ElementTree.fromstring(reports[1].read_text(encoding="utf-8"))
        json.loads(reports[2].read_text(encoding="utf-8"))
        self.assertNotIn("\x1b", out)
        self.assertIn("````\n", reports[0].read_text(encoding="utf-8"))

    def test_levels_are_apart(self):
        ids = {level: {case.id for case in chosen(level)} for level in ("must", "should", "extensions")}
        self.assertTrue(ids["must"] < ids["should"] < ids["extensions"])
        self.assertTrue(all(case.level == MUST for case in chosen(MUST)))
        with served(StandIn()) as url:
            _, out, _ = run("--url", url, "--level", "must", "--filter", "guide.")
        self.assertNotIn("guide.names-tools", out)

    def test_a_server_without_the_skills_is_told_how_to_get_them(self):
        server = StandIn()
        server.skills = [skill for skill in server.skills if skill.name == "skills.protocol.guide"]
        with served(server) as url:
            code, out, err = run("--url", url)
            self.assertEqual((code, out), (2, ""))
            self.assertIn("conformance.echo.args", err)
            self.assertIn("--install", err)
            # Cases that need no skills can be run.
            code, _, err = run("--url", url, "--filter", "blobs.")
            self.assertEqual((code, err), (0, ""))

    def test_a_server_with_one_version_of_each_skill_skips_the_cases_of_versions(self):
        server = StandIn()
        server.skills = [skill for skill in server.skills if skill.version != "1.9.0"]
        with served(server) as url:
            code, out, _ = run("--url", url)
        self.assertEqual(code, 0, out)
        skipped = [line for line in out.splitlines() if line.startswith("skipped")]
        wanted = [case for case in chosen("should") if OLDER_VERSION in case.skills]
        self.assertEqual(len(skipped), len(wanted))
        self.assertTrue(all(OLDER_VERSION in line for line in skipped))

    def test_nobody_there_is_no_failure_of_the_server(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            code, _, err = run("--url", f"127.0.0.1:{unused.getsockname()[1]}", "--timeout", "2")
        self.assertEqual(code, 2)
        self.assertTrue(err.startswith("error: "), err)

    def test_a_server_that_says_nothing_is_not_waited_for(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            code, _, err = run("--url", url, "--timeout", "0.2")
        self.assertEqual(code, 2)
        self.assertIn("no answer within 0.2 s", err)

    def test_a_case_without_an_answer_has_failed(self):
        server = StandIn()
        server.rpc = mock.Mock(side_effect=Unreachable("no answer within 60 s"))
        (outcome,) = runner.run(server, [case for case in CASES if case.id == "rpc.parse-error-id"])
        self.assertEqual(outcome.status, runner.FAILED)
        self.assertIn("no answer within 60 s", outcome.message)
        self.assertIn("no answer", outcome.exchanges[0].answer)

    def test_the_key_comes_from_a_file_the_variable_or_the_option(self):
        file = self.folder / "key"
        file.write_text(f"{KEY}\n")
        with served(StandIn(), wants_key=True) as url:
            asked = ("--url", url, "--filter", "guide.content")
            code, _, err = run(*asked)
            self.assertEqual(code, 2)
            self.assertIn("--key-file", err)
            self.assertEqual(run(*asked, "--key", KEY)[0], 0)
            self.assertEqual(run(*asked, "--key-file", file)[0], 0)
            with mock.patch.dict(os.environ, {cli.KEY_VARIABLE: KEY}):
                code, out, _ = run(*asked)
            self.assertEqual(code, 0)
            self.assertNotIn(KEY, out)

    def test_skills_are_installed_and_installed_again(self):
        target = self.folder / "skills"
        for _ in range(2):
            code, out, _ = run("--install", target)
            self.assertEqual(code, 0)
        self.assertEqual(len(out.splitlines()), len(list(target.iterdir())))
        ours = {
            file.relative_to(folder())
            for file in folder().rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        self.assertEqual({file.relative_to(target) for file in target.rglob("*") if file.is_file()}, ours)

    def test_wrong_usage_is_told(self):
        for arguments in ((), ("--url", "ftp://x"), ("--url", "127.0.0.1:1", "--filter", "no-such-case")):
            code, _, err = run(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn("error: ", err)

    def test_an_error_of_a_case_is_a_failure_and_not_the_end(self):
        server = StandIn()

        def fall(params):
            if params.get("detail") == "names":
                raise ConnectionError("gone")

        before(server, "list_skills", fall)
        with served(server) as url:
            code, out, _ = run("--url", url, "--filter", "list.names-alone", "--filter", "guide.content")
        self.assertEqual(code, 1)
        self.assertIn("passed  guide.content", out)

    def test_the_readme_has_the_cases_as_they_are(self):
        readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
        _, _, table = readme.partition("## Cases\n\n")
        self.assertEqual(
            table, list_as_markdown(), "replace the part behind `## Cases` by the output of `--list`"
        )


if __name__ == "__main__":
    unittest.main()
