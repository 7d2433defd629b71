"""Skills whose code was compiled before the run."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

from _wardian import bytecode
from tests.support import Sandbox, places

FILES = {
    "SKILL.md": "# A skill\n",
    "code/main.py": "from helper import double\ndef main(args):\n    return double(args['n'])\n",
    "code/helper.py": "def double(n):\n    return n / 0 if n == 13 else 2 * n\n",
    "code/broken.py": "def broken(:\n",
}


class Compiled(Sandbox):
    def mount_compiled(self, files: dict[str, str]) -> dict[str, Any]:
        skill = self.mount_skill("acme.tool", files)
        for path, code in bytecode.compile_skill("acme.tool").items():
            target = Path(places.BYTECODE, "acme.tool", path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(base64.b64decode(code))
        return {**skill, "has_bytecode": True}

    def run_skill(self, skill: dict[str, Any], **args: Any) -> tuple[str, Any]:
        return self.run_job({"skill": {"name": skill["name"]}}, skills=[skill], args=args)

    def test_only_files_that_compile_are_compiled(self):
        self.mount_skill("acme.tool", FILES)
        compiled = bytecode.compile_skill("acme.tool")
        self.assertEqual(list(compiled), ["code/helper.py", "code/main.py"])

    def test_a_skill_runs_from_its_bytecode(self):
        skill = self.mount_compiled(FILES)
        for path in ("main", "helper"):
            # Nothing is left to compile.
            Path(places.SKILLS, "acme.tool/code", f"{path}.py").write_text("1 / 0")
        self.assertEqual(self.run_skill(skill, n=4), ("returned", 8))

    def test_a_traceback_shows_the_source_all_the_same(self):
        skill = self.mount_compiled(FILES)
        end, report = self.run_skill(skill, n=13)
        self.assertEqual((end, report["type"]), ("raised", "ZeroDivisionError"))
        self.assertIn("return n / 0 if n == 13", report["traceback"])
        self.assertNotIn(places.BYTECODE, report["traceback"])

    def test_a_file_without_bytecode_is_compiled_from_its_source(self):
        skill = self.mount_compiled(FILES)
        os.remove(f"{places.BYTECODE}/acme.tool/code/helper.py")
        self.assertEqual(self.run_skill(skill, n=4), ("returned", 8))

    def test_who_imports_a_file_that_does_not_compile_sees_why(self):
        files = {**FILES, "code/main.py": "import broken\ndef main(args):\n    return 1\n"}
        end, report = self.run_skill(self.mount_compiled(files))
        self.assertEqual((end, report["type"]), ("raised", "SyntaxError"))
