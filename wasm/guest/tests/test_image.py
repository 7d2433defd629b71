"""What the bootstrap does that can be tried outside of an image."""

from __future__ import annotations

import ast
import io
import linecache
import random
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import bootstrap
from _wardian import rehearsal
from tests.support import Sandbox, read_modules

ROOT = Path(__file__).parent.parent


class Rehearsal(Sandbox):
    def test_a_rehearsal_leaves_nothing_behind(self):
        def state():
            skills = [name for name in vars(sys.modules["skills"]) if not name.startswith("__")]
            return sorted(sys.modules), skills, list(sys.path), sys.argv, sys.modules["__main__"]

        before = state()
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            rehearsal.rehearse()
        self.assertEqual(state(), before)
        self.assertEqual(out.getvalue() + err.getvalue(), "")
        self.assertEqual(list(Path().iterdir()), [])
        self.assertNotIn("main.py", linecache.cache)
        self.assertIsNone(random._inst.gauss_next)
        self.assertEqual(self.ends + self.logs, [], "the real host heard of it")

    def test_a_rehearsal_that_ends_otherwise_is_an_error(self):
        job = rehearsal._job({"code": {"source": "1 / 0", "file_name": "main.py"}}, [])
        with self.assertRaises(rehearsal.UnexpectedEnd):
            rehearsal._perform(job, 0x02)


class Modules(Sandbox):
    def test_modules_have_builtins_of_their_own(self):
        import builtins

        for name in read_modules():
            own = vars(sys.modules[name])["__builtins__"]
            self.assertIsNot(own, vars(builtins), name)
            self.assertIs(own["len"], len)

    def test_file_names_are_recognised_as_our_own(self):
        from _wardian import places

        self.assertEqual(bootstrap.OWN_CODE, places.OWN_CODE)
        for name in read_modules():
            self.assertTrue(sys.modules[name].__file__.startswith(places.OWN_CODE), name)

    def test_no_module_imports_anything_but_packages_at_run_time(self):
        """Packages are imported by the program before what is made for them is called."""
        packages = {"PIL", "compression", "matplotlib", "numpy", "pandas", "plotly"}
        # markitdown, which asks for the types of files, requires it.
        packages.add("olefile")
        for name, (_, source) in read_modules().items():
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    inner = [
                        n for n in ast.walk(node) if isinstance(n, ast.Import | ast.ImportFrom)
                    ]
                    modules = [
                        getattr(n, "module", None) or n.names[0].name for n in inner
                    ]
                    roots = {module.split(".")[0] for module in modules}
                    self.assertLessEqual(roots, packages, f"{name}.{node.name}")


class Images(Sandbox):
    def test_every_image_says_what_it_is_for_and_compiles(self):
        files = sorted((ROOT / "images").glob("*.py"))
        self.assertIn("base.py", [file.name for file in files])
        for file in files:
            tree = ast.parse(file.read_text(encoding="utf-8"), file.name)
            self.assertTrue(ast.get_docstring(tree), file.name)
