"""Missing packages: the table, its copy in the guide, and what an import says."""

from __future__ import annotations

import importlib.util
import re
import sys
import tomllib
import types
import unittest.mock
from pathlib import Path

from _wardian import advice, packages
from tests.support import Sandbox

GUIDE = Path(__file__).parents[3] / "skills/skills.protocol.guide"


class Packages(Sandbox):
    def test_the_table_is_long_and_well_formed(self):
        self.assertGreater(len(packages.SUBSTITUTES), 300)
        for name, advice in packages.SUBSTITUTES.items():
            self.assertTrue(name.isidentifier(), name)
            self.assertRegex(advice, r"^[a-z`].*[^.]$", name)
            self.assertNotIn(name, sys.stdlib_module_names - {"tkinter", "distutils"}, name)

    def test_the_guide_shows_the_same_table(self):
        shown = {}
        for line in (GUIDE / "resources/packages.md").read_text(encoding="utf-8").splitlines():
            cells = line.strip("|").split("|")
            for name in re.findall(r"`(\w+)`", cells[0]) if len(cells) == 2 else ():
                shown[name] = cells[1].strip()
        self.assertEqual(shown, packages.SUBSTITUTES)

    def test_the_guide_is_short(self):
        self.assertLess(len((GUIDE / "SKILL.md").read_text(encoding="utf-8")), 9_000)

    def test_an_import_says_what_to_use(self):
        for statement, name, advice in [
            ("import PyPDF4", "PyPDF4", "use pypdf"),
            ("from duckdb import connect", "duckdb", "sqlite3"),
            ("import pendulum as tz", "pendulum", "zoneinfo"),
            ("import bokeh.plotting as bp", "bokeh", "matplotlib"),
            ("__import__('polars')", "polars", "pandas"),
            ("import importlib\nimportlib.import_module('torch.nn')", "torch", "sklearn"),
        ]:
            with self.subTest(statement):
                failure = self.fails(statement)
                self.assertEqual(failure["type"], "ModuleNotFoundError")
                self.assertTrue(
                    failure["message"].startswith(f"No module named '{name}': it is not installed")
                )
                self.assertIn(advice, failure["message"])

    def test_a_missing_battery_is_said_to_belong_to_the_server(self):
        name = min(packages.BATTERIES - sys.modules.keys() - {"py"})
        message = packages.substitute_for(f"{name}.part")
        self.assertIn("wardian engine install", message or "")
        self.assertFalse(packages.BATTERIES & packages.SUBSTITUTES.keys())

    def test_a_native_module_that_the_engine_lacks_belongs_to_the_server(self):
        text = "No module named 'pydantic_core._pydantic_core'"
        message = packages.with_advice(text, "pydantic_core._pydantic_core")
        self.assertTrue(message.startswith(f"{text}: the engine of this server was built without it"))
        self.assertIn("`wardian engine build --with pydantic-core`", message)
        self.assertEqual(packages.with_advice("No module named 'a.b'", "a.b"), "No module named 'a.b'")

    def test_a_folder_in_the_place_of_a_missing_native_module_is_not_found(self):
        known = ["jiter.jiter", "msgpack._cmsgpack", "sys"]
        missing = packages.missing_natives(known)
        self.assertIn("pydantic_core._pydantic_core", missing)
        self.assertNotIn("jiter.jiter", missing)
        self.assertFalse(packages.missing_natives([*known, *missing]))
        finder = advice.MissingNatives(frozenset({"_wardian.absent"}))
        sys.meta_path.insert(0, finder)
        self.addCleanup(sys.meta_path.remove, finder)
        self.assertIsNone(importlib.util.find_spec("_wardian.absent"))
        with self.assertRaises(ModuleNotFoundError):
            importlib.import_module("_wardian.absent")

    def test_every_native_module_of_the_engine_is_known(self):
        native = Path(__file__).parents[2] / "native/native.toml"
        modules = tomllib.loads(native.read_text(encoding="utf-8"))["modules"]
        for module in modules:
            self.assertEqual(packages.NATIVE_PARTS.get(module["name"]), module["package"])

    def test_a_battery_that_is_there_need_not_be_installed(self):
        with unittest.mock.patch("importlib.util.find_spec", lambda name: name == "plotly" or None):
            said = packages.about_installing(["plotly==7", "requests", "polars"])
        self.assertIn("; plotly is there: import it; in the place of requests: it belongs to", said)
        self.assertTrue(said.endswith("; in the place of polars: use pandas"), said)

    def test_programs_can_still_ask(self):
        source = (
            "import importlib.util\n"
            "found = []\n"
            "try:\n    import polars\n"
            "except ImportError as error:\n    found += [error.name, type(error).__name__]\n"
            "[*found, importlib.util.find_spec('polars')]\n"
        )
        self.assertEqual(self.returns(source), ["polars", "ModuleNotFoundError", None])

    def test_everything_that_prints_a_traceback_says_what_to_do(self):
        expected = "ModuleNotFoundError: No module named 'nothing_like_it': it is not installed, and nothing can"
        with open("lacks.py", "w", encoding="utf-8") as file:
            file.write("import nothing_like_it\n")
        with open("test_lacks.py", "w", encoding="utf-8") as file:
            file.write(
                "import unittest\nclass A(unittest.TestCase):\n    def test_a(self):\n        import nothing_like_it\n"
            )
        attempt = "try:\n    import nothing_like_it\nexcept ImportError as error:\n    {}\n{}"
        child = "import subprocess, sys\nsubprocess.run([sys.executable, {}], capture_output=True, text=True).stderr"
        for name, source in {
            "print_exc": "import traceback\n" + attempt.format("text = traceback.format_exc()", "text"),
            "error alone": "import traceback\n"
            + attempt.format("text = ''.join(traceback.format_exception_only(error))", "text"),
            "a chain": "import traceback\n"
            + attempt.format("try:\n        1 / 0\n    except ZeroDivisionError:\n        text = traceback.format_exc()", "text"),
            "logging": "import io, logging\nout = io.StringIO()\nlogging.basicConfig(stream=out, force=True)\n"
            + attempt.format("logging.exception('x')", "out.getvalue()"),
            "unittest": "import io, unittest\nout = io.StringIO()\n"
            "class A(unittest.TestCase):\n    def test_a(self):\n        import nothing_like_it\n"
            "unittest.TextTestRunner(out).run(unittest.defaultTestLoader.loadTestsFromTestCase(A))\nout.getvalue()",
            "python x.py": child.format("'lacks.py'"),
            "python -m": child.format("'-m', 'lacks'"),
            "python -c": child.format("'-c', 'import nothing_like_it'"),
            "python -m unittest": child.format("'-m', 'unittest', 'test_lacks'"),
        }.items():
            with self.subTest(name):
                text = self.returns(source)
                self.assertIn(expected, text)
                self.assertNotIn("advice.py", text)
        for name, said in [("nothing_like_it", packages.NOT_INSTALLED), ("polars", "it is not installed; use pandas")]:
            text = self.returns(child.format(f"'-m', '{name}'"))
            self.assertEqual(text, f"{sys.executable}: No module named {name} ({said})\n")
        self.assertIn(expected, self.fails("def f():\n    import nothing_like_it\nf()")["traceback"])

    def test_a_popular_module_has_no_frames_of_ours_in_tracebacks(self):
        source = "import traceback\ntry:\n    import polars\nexcept ImportError:\n    text = traceback.format_exc()\ntext"
        text = self.returns(source)
        self.assertEqual(len(text.splitlines()), 4, text)
        self.assertIn("No module named 'polars': it is not installed; use pandas", text)

    def test_the_advice_takes_the_place_of_what_python_says(self):
        class Report:
            def __init__(self, exc_type, exc_value, exc_traceback, *, compact=False):
                self._str = str(exc_value)
                if issubclass(exc_type, ModuleNotFoundError):
                    self._str += ". Site initialization is disabled, did you forget to enable your environment?"

        module = types.SimpleNamespace(
            TracebackException=Report, _safe_string=lambda value, what: str(value)
        )
        advice._PATCHES["traceback"](module)
        for text, name, said in [
            ("No module named 'x'", "x", f"No module named 'x': {packages.NOT_INSTALLED}"),
            ("No module named 'x.y'", "x.y", "No module named 'x.y'"),
            ("No module named 'x'", None, "No module named 'x'"),
            ("No module named 'x': use y", "x", "No module named 'x': use y"),
            ("No module named 'termios'", "termios", "No module named 'termios': there is no terminal: pass"),
        ]:
            error = ModuleNotFoundError(text, name=name)
            found = Report(type(error), error, None, compact=True)._str
            self.assertTrue(found == said or name == "termios" and found.startswith(said), found)
        self.assertEqual(Report(ValueError, ValueError("v"), None)._str, "v")
        error = ModuleNotFoundError("No module named 'msvcrt'", name="msvcrt")
        self.assertIn("Site", Report(type(error), error, None)._str, "Python has words of its own for it")

    def test_an_unknown_module_is_said_not_to_be_installable(self):
        message = self.fails("import no_such_thing")["message"]
        self.assertRegex(message, r"^No module named 'no_such_thing': .*nothing can be installed")


class Impossible(Sandbox):
    def test_what_cannot_work_says_what_to_do(self):
        for source, kind, advice in [
            ("import os\nos.execvp('id', ['id'])", "FileNotFoundError", "'id' (no other program"),
            ("import os\nos.posix_spawn('id', ['id'], {})", "FileNotFoundError", "Python's library"),
            ("import os\nos.fork()", "OSError", "no other program"),
            (
                "import subprocess\nsubprocess.run(['id', '-u'])",
                "FileNotFoundError",
                "[Errno 2] No such file or directory: 'id' (no other program",
            ),
            (
                "import subprocess\nsubprocess.check_output('cd . && git log', shell=True)",
                "CalledProcessError",
                "exit status 127. (there are no repositories",
            ),
            (
                "import subprocess\nsubprocess.run(['soffice', '--headless', 'a.docx'])",
                "FileNotFoundError",
                "'soffice' (no office program can run",
            ),
            (
                "import subprocess\nsubprocess.check_call(['pip', 'install', 'polars'])",
                "FileNotFoundError",
                "in the place of polars: use pandas",
            ),
            ("import multiprocessing\nmultiprocessing.Queue()", "OSError", "multiprocessing.Pool"),
            (
                "import multiprocessing\nmultiprocessing.Process(target=print).start()",
                "OSError",
                "ProcessPoolExecutor",
            ),
            ("import urllib.request\nurllib.request.urlopen('http://x.y/')", "URLError", "network"),
            (
                "import http.client\nhttp.client.HTTPConnection('x').request('GET', '/')",
                "OSError",
                "network",
            ),
            ("import signal\nsignal.setitimer(signal.ITIMER_PROF, 3)", "OSError", "ITIMER_REAL"),
            ("import os\nos.environ['X_API_KEY']", "KeyError", "'X_API_KEY' (the environment has"),
            (
                "import json, sys\njson.loads(sys.stdin.read())",
                "JSONDecodeError",
                "standard input is empty",
            ),
            ("import sys\nsys.stdin.read().split()[0]", "IndexError", "standard input is empty"),
            ("import sys\nint(sys.stdin.readline())", "ValueError", "standard input is empty"),
            ("import sys\nnext(sys.stdin)", "StopIteration", "standard input is empty"),
            ("name = input('Name? ')", "EOFError", "main(args)"),
            ("display(3)", "NameError", "print the value"),
            ("open('blob:nothing')", "FileNotFoundError", "input_blobs"),
        ]:
            with self.subTest(source):
                failure = self.fails(source)
                self.assertEqual(failure["type"], kind)
                self.assertIn(advice, failure["message"])

    def test_remarks_are_made_of_nothing_else(self):
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        for source in (
            "{}['X_API_KEY']",
            "import json\njson.loads('')",
            "import sys, io\nsys.stdin = io.StringIO('x')\nint(sys.stdin.read())",
            "import sys\nsys.stdin.read()\nint('seven')",
            "import os\nos.environ['PATH']\n[][1]",
            "import subprocess\nraise subprocess.CalledProcessError(1, ['x'])",
        ):
            with self.subTest(source):
                failure = self.fails(source)
                self.assertNotIn(" (", failure["message"].replace(" (char 0)", ""))
                sys.stdin = sys.__stdin__

    def test_a_shell_ends_with_127_and_says_what_is_missing(self):
        source = (
            "import subprocess\n"
            "run = subprocess.run('A=b git status', shell=True, capture_output=True, text=True)\n"
            "joined = subprocess.run('git', shell=True, stdout=-1, stderr=subprocess.STDOUT)\n"
            "silent = subprocess.call('git', shell=True, stderr=subprocess.DEVNULL)\n"
            "fed = subprocess.Popen('git', shell=True, stdin=-1, stdout=-1, text=True, stderr=-3)\n"
            "with open('log', 'w') as log: subprocess.call('git', shell=True, stderr=log)\n"
            "[run.returncode, run.stdout, run.stderr, joined.stdout.decode(), silent,\n"
            " fed.communicate('x'), fed.poll(), fed.wait(), open('log').read(),\n"
            " subprocess.getstatusoutput('git')[0]]"
        )
        said = (
            "/bin/sh: 1: git: not found (there are no repositories in the sandbox: pass files as blobs, "
            "and compare texts with difflib)\n"
        )
        self.assertEqual(
            self.returns(source), [127, "", said, said, 127, ["", None], 127, 127, said, 127]
        )

    def test_os_reports_the_status_of_that_shell(self):
        source = (
            "import os\n"
            "with os.popen('git --version') as pipe: read = pipe.read()\n"
            "[os.waitstatus_to_exitcode(os.system('git')), read, os.popen('git').close() >> 8,\n"
            " os.spawnlp(os.P_WAIT, 'git', 'git')]"
        )
        self.assertEqual(self.returns(source), [127, "", 127, 127])

    def test_a_program_that_looks_for_another_one_goes_on(self):
        source = (
            "import subprocess\n"
            "try:\n    subprocess.run(['git', '--version'])\n"
            "except FileNotFoundError as error:\n    found = error\n"
            "[found.errno, found.filename == 'git', found.strerror]"
        )
        self.assertEqual(self.returns(source), [2, True, "No such file or directory"])

    def test_a_key_twice_in_json_is_an_error(self):
        twins = ["{1: 'a', '1': 'b'}", "{'x': [{True: 1, 'true': 2}]}", "{None: 1, 'null': 2}"]
        for value in twins:
            failure = self.fails(f"def main(args):\n    return {value}\n")
            self.assertEqual(failure["type"], "TypeError")
            self.assertIn("which are the same in JSON", failure["message"])
        self.assertEqual(
            self.returns("def main(args): return {1: [{2: (), 'b': {}}], 1.5: None}"),
            {"1": [{"2": [], "b": {}}], "1.5": None},
        )

    def test_only_public_names_are_shown(self):
        source = (
            "import runtime\nfrom runtime import blobs, log, run\n"
            "[dir(blobs), dir(log), dir(runtime)]"
        )
        names, log, package = self.returns(source)
        self.assertIn("write_file", names)
        self.assertEqual(log, ["debug", "error", "info", "warning"])
        for name in [*names, *log, *package]:
            self.assertFalse(name.startswith("_") or name in ("json", "io", "os", "door"), name)

    def test_a_file_that_is_open_is_flushed_before_it_is_stored(self):
        for stored in ["'a.txt'", "file", "__import__('pathlib').Path('a.txt')"]:
            source = (
                "from runtime import blobs\nfile = open('a.txt', 'w')\nfile.write('all of it')\n"
                f"blobs.read_text(blobs.write_file({stored}))\n"
            )
            self.assertEqual(self.returns(source), "all of it")

    def test_an_uncaught_memory_error_keeps_its_line(self):
        failure = self.fails("def main(args):\n    raise MemoryError\n")
        self.assertIn("line 2, in main", failure["traceback"])
