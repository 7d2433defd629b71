"""Scripts of skills: run as a machine runs them, with what they import, read and say."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from _wardian import descriptors, packages
from tests.support import Sandbox, places

FILL = '''"""Fills a form."""
import argparse, json, os, sys
from pathlib import Path

from form_shared import double
from helpers.words import shout

parser = argparse.ArgumentParser(description="Fills a form.")
parser.add_argument("source")
parser.add_argument("target")
parser.add_argument("--times", type=int, default=1)
options = parser.parse_args()
data = json.loads((Path(__file__).parent / "data.json").read_text())
text = Path(options.source).read_text() * double(options.times)
Path(options.target).write_text(shout(text) + data["end"])
print("wrote", options.target)
print("done", file=sys.stderr)
'''

FILES = {
    "SKILL.md": "",
    "scripts/fill.py": FILL,
    "scripts/form_shared.py": "def double(n):\n    return 2 * n\n",
    "scripts/helpers/__init__.py": "",
    "scripts/helpers/words.py": "def shout(text):\n    return text.upper()\n",
    "scripts/data.json": '{"end": "!"}',
    "scripts/dotted.py": "from scripts.form_shared import double\nprint(double(4))\n",
    "scripts/relative.py": "from .form_shared import double\nfrom .helpers import words\nprint(double(5), words.shout('a'))\n",
    "scripts/lines.py": "import sys\nfor line in sys.stdin:\n    print(line.strip()[::-1])\n",
    "scripts/asks.py": "print('got', input('name? '))\n",
    "scripts/exits.py": "import sys\nprint('before')\nsys.exit(eval(sys.argv[1]))\n",
    "scripts/lacks.py": "import nothing_like_it\n",
    "scripts/table.json": "{}",
    "scripts/opens.py": "import sys\nopen(sys.argv[1])\n",
    "scripts/imports.py": (
        "import importlib.util, json, os, sys\n"
        "found = importlib.util.find_spec('caller_module')\n"
        "print(found, json.loads('[]'), '' if os.getcwd() not in sys.path else 'searched')\n"
    ),
    "scripts/raises.py": "def check(x):\n    raise ValueError(f'no field {x}')\n\ncheck('a')\n",
    "scripts/env.py": "import os\nprint(os.environ.get('MODE'))\n",
    "scripts/facts.py": (
        "import os, sys\n"
        "print(__name__, __file__ == sys.argv[0], os.path.basename(sys.path[0]), sys.argv[1:])\n"
        "print(os.path.basename(os.getcwd()), __spec__, sys.modules['__main__'].__dict__ is globals())\n"
    ),
    "scripts/late.py": "import atexit\natexit.register(print, 'bye')\nprint('hi')\n",
    "tools/deep/plain.py": "print('plain')\n",
    "top.py": "import sys\nprint('top', sys.argv[1:])\n",
    "scripts/changes.py": (
        "import os, sys, form_shared\n"
        "os.environ['X'] = '1'\nos.chdir('/')\nsys.path.insert(0, '/none')\nsys.stdout = None\n"
        "form_shared.double = None\n"
    ),
}


class Scripts(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(atexit._clear)
        self.skill = self.mount_skill("acme.form", FILES, entrypoint=None)

    def call(self, path: str, *argv: str, **fields: Any) -> tuple[str, Any]:
        script = {"path": path, "argv": list(argv), "env": {}, "stdin": None, **fields}
        program = {"skill": {"name": "acme.form", "script": script}}
        return self.run_job(program, skills=[self.skill])

    def prints(self, path: str, *argv: str, **fields: Any) -> str:
        end = self.call(path, *argv, **fields)
        self.assertEqual(end, ("returned", None), self.complained)
        return self.printed

    def exits(self, path: str, *argv: str, **fields: Any) -> str:
        end, report = self.call(path, *argv, **fields)
        self.assertEqual((end, report["type"]), ("raised", "SystemExit"), report)
        return report["message"]

    def write(self, name: str, text: str) -> None:
        with open(f"{places.WORKSPACE}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def test_a_script_imports_what_is_beside_it_and_reads_and_writes_files(self):
        self.write("in.txt", "ab")
        self.assertEqual(
            self.prints("scripts/fill.py", "in.txt", "out.txt", "--times", "2"), "wrote out.txt\n"
        )
        self.assertEqual(self.complained, "done\n")
        with open(f"{places.WORKSPACE}/out.txt", encoding="utf-8") as file:
            self.assertEqual(file.read(), "ABABABAB!")

    def test_help_and_wrong_usage_are_those_of_the_script(self):
        text = self.prints("scripts/fill.py", "--help")
        self.assertTrue(text.startswith("usage: fill.py [-h]"), text)
        self.assertIn("Fills a form.", text)
        self.assertEqual(
            self.exits("scripts/fill.py", "in.txt"), "`scripts/fill.py` ended with exit code 2"
        )
        self.assertIn("fill.py: error: the following arguments are required: target", self.complained)

    def test_the_three_ways_to_import_a_module_of_the_skill(self):
        self.assertEqual(self.prints("scripts/dotted.py"), "8\n")
        self.assertEqual(self.prints("scripts/relative.py"), "10 A\n")

    def test_files_outside_of_scripts_run_too(self):
        self.assertEqual(self.prints("tools/deep/plain.py"), "plain\n")
        self.assertEqual(self.prints("top.py", "-v", "-v"), "top ['-v', '-v']\n")

    def test_stdin_is_the_text_of_the_call(self):
        self.assertEqual(self.prints("scripts/lines.py", stdin="abc\ndéf"), "cba\nféd\n")
        self.assertEqual(self.prints("scripts/asks.py", stdin="Ada\n"), "name? got Ada\n")

    def test_a_script_that_asks_without_stdin_says_where_the_text_goes(self):
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        sys.stdin = sys.__stdin__
        end, report = self.call("scripts/asks.py")
        self.assertEqual((end, report["type"]), ("raised", "EOFError"))
        self.assertIn("`stdin` of the call, on the command line `--stdin`", report["message"])
        self.assertNotIn("main(args)", report["message"])
        # With a text that is not enough it is as on a machine.
        self.assertEqual(self.call("scripts/asks.py", stdin="")[1]["message"], "EOF when reading a line")

    def test_the_environment_is_that_of_the_call(self):
        self.assertEqual(self.prints("scripts/env.py", env={"MODE": "fast"}), "fast\n")

    def test_exit_codes_are_those_of_a_process(self):
        for code, status, said in (
            ("None", 0, ""),
            ("0", 0, ""),
            ("False", 0, ""),
            ("256", 0, ""),
            ("1", 1, ""),
            ("3", 3, ""),
            ("True", 1, ""),
            ("-1", 255, ""),
            ("'no form'", 1, "no form\n"),
            ("''", 1, "\n"),
            ("[1]", 1, "[1]\n"),
        ):
            with self.subTest(code):
                end, report = self.call("scripts/exits.py", code)
                if status == 0:
                    self.assertEqual((end, report), ("returned", None))
                else:
                    expected = f"`scripts/exits.py` ended with exit code {status}"
                    self.assertEqual(report["message"], expected)
                self.assertEqual((self.printed, self.complained), ("before\n", said))

    def test_an_exception_is_printed_as_on_a_machine_and_reported(self):
        end, report = self.call("scripts/raises.py")
        self.assertEqual((end, report["type"]), ("raised", "ValueError"))
        self.assertEqual(report["message"], "no field a")
        lines = [line for line in self.complained.splitlines() if "^" not in line and "~" not in line]
        file = f"{places.SKILLS}/acme.form/scripts/raises.py"
        self.assertEqual(
            lines,
            [
                "Traceback (most recent call last):",
                f'  File "{file}", line 4, in <module>',
                "    check('a')",
                f'  File "{file}", line 2, in check',
                "    raise ValueError(f'no field {x}')",
                "ValueError: no field a",
            ],
        )

    def test_a_missing_file_of_a_skill_is_said_to_be_one(self):
        root = f"{places.SKILLS}/acme.form"
        for path, words in [
            ("scripts/table.json", f"the current folder is that of the run, /workspace, and the skill has `{root}/scripts/table.json`"),
            ("table.json", f"and the skill has `{root}/scripts/table.json`: open that"),
            (f"{root}/table.json", f"(the skill has `{root}/scripts/table.json`)"),
            (f"{root}/none.json", f"(the skill `acme.form` has no such file; `os.walk('{root}')` lists"),
            (f"{places.SKILLS}/acme.other/x", "(no skill `acme.other` is mounted in this run (mounted: `acme.form`); code"),
        ]:
            with self.subTest(path):
                self.assertEqual(self.call("scripts/opens.py", path)[0], "raised")
                said = self.complained.splitlines()[-1]
                self.assertIn(words, said)
                self.assertNotIn("input_blobs", said)

    def test_files_of_the_caller_are_no_modules(self):
        for name in ("caller_module.py", "json.py"):
            with open(f"{places.WORKSPACE}/{name}", "w", encoding="utf-8") as file:
                file.write("print('code of the caller')\n")
        self.assertEqual(self.prints("scripts/imports.py"), "None [] \n")

    def test_a_missing_module_is_told_with_advice(self):
        end, report = self.call("scripts/lacks.py")
        self.assertEqual((end, report["type"]), ("raised", "ModuleNotFoundError"))
        said = self.complained.splitlines()[-1]
        self.assertEqual(
            said, f"ModuleNotFoundError: No module named 'nothing_like_it': {packages.NOT_INSTALLED}"
        )

    def test_the_process_looks_like_one_that_runs_the_file(self):
        self.assertEqual(
            self.prints("scripts/facts.py", "a", ""),
            "__main__ True scripts ['a', '']\nworkspace None True\n",
        )

    def test_exit_handlers_run(self):
        self.assertEqual(self.prints("scripts/late.py"), "hi\nbye\n")


class Cells(Scripts):
    """The same as cells of a session."""

    def run_job(self, program: dict[str, Any], **fields: Any) -> tuple[str, Any]:
        call = program.get("skill", {}).get("script")
        if call is None:
            return super().run_job(program, **fields)
        source = (
            "__import__('_wardian.skill_scripts').skill_scripts.cell('acme.form', "
            f"{call['path']!r}, {call['argv']!r}, stdin={call['stdin']!r}, env={call['env']!r})"
        )
        out, err = descriptors.scratch(), descriptors.scratch()
        try:
            with descriptors.Redirection({1: out, 2: err}):
                end, report = self.run_cell(source, **fields)
            self.printed = descriptors.content_of(out).decode()
            self.complained = descriptors.content_of(err).decode()
        finally:
            descriptors.close(out)
            descriptors.close(err)
        if end == "raised" and self.complained.startswith("Traceback"):
            # A process has no class of its end: its error stream has it.
            self.assertEqual(report["type"], "SystemExit")
            self.assertIn("ended with exit code 1", report["message"])
            kind, _, message = self.complained.splitlines()[-1].partition(": ")
            report = {"type": kind, "message": message}
        return end, report

    def test_a_script_changes_nothing_for_the_cells_after_it(self):
        self.prints("scripts/changes.py")
        self.assertEqual(self.prints("scripts/dotted.py"), "8\n")
        state = "import os, sys\nkept = 1\n[os.environ.get('X'), os.getcwd(), '/none' in sys.path, "
        state += "'form_shared' in sys.modules, __name__]"
        value = self.gives(state)
        folder = os.path.realpath(places.WORKSPACE)
        self.assertEqual(value, [None, folder, False, False, "__main__"])
        self.prints("scripts/env.py", env={"MODE": "x"})
        self.assertEqual(self.gives("[kept, os.environ.get('MODE')]"), [1, None])

    def test_a_script_that_does_not_exist_is_named(self):
        self.assertEqual(self.exits("scripts/none.py"), "`scripts/none.py` ended with exit code 2")
        self.assertIn("can't open file", self.complained)
