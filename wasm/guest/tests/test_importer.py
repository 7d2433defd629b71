"""Imports of mounted skills, and imports within them."""

from __future__ import annotations

import sys
from unittest import mock

from tests.support import Sandbox, places

MAIN = "def main(args):\n    return {'got': args}\n"


class FromPrograms(Sandbox):
    def test_what_the_entrypoint_defines_can_be_imported(self):
        skill = self.mount_skill("acme.sales.report", {"code/main.py": MAIN + "LIMIT = 7\n"})
        source = (
            "from skills.acme.sales.report import main as report, LIMIT\n"
            "import skills.acme.sales.report as module\n"
            "def main(args):\n"
            "    assert module.main is report\n"
            "    return [report(args), LIMIT]\n"
        )
        value = self.returns(source, skills=[skill], args={"a": 1})
        self.assertEqual(value, [{"got": {"a": 1}}, 7])

    def test_files_beside_the_entrypoint_are_modules_below_it(self):
        skill = self.mount_skill(
            "acme.report",
            {
                "code/main.py": MAIN,
                "code/utils.py": "def double(x): return 2 * x\n",
                "code/parts/__init__.py": "",
                "code/parts/inner.py": "from ..utils import double\nsix = double(3)\n",
                "code/plain/loose.py": "x = 1\n",
            },
        )
        source = (
            "from skills.acme.report.utils import double\n"
            "from skills.acme.report.parts import inner\n"
            "import skills.acme.report.plain.loose\n"
            "from skills.acme.report.main import main as same\n"
            "from skills.acme.report import main as entry\n"
            "def main(args):\n"
            "    assert same is entry\n"
            "    return [double(2), inner.six, skills.acme.report.plain.loose.x]\n"
        )
        self.assertEqual(self.returns(source, skills=[skill]), [4, 6, 1])

    def test_dashes_are_underscores(self):
        skill = self.mount_skill("best-of.web-tools", {"code/main.py": MAIN})
        source = "from skills.best_of.web_tools import main"
        self.assertEqual(self.returns(source, skills=[skill], args={"a": 1}), {"got": {"a": 1}})

    def test_a_skill_may_be_named_like_the_start_of_another(self):
        outer = self.mount_skill("acme.sales", {"code/main.py": "name = 'outer'\n"})
        inner = self.mount_skill("acme.sales.report", {"code/main.py": "name = 'inner'\n"})
        other = self.mount_skill("acme.salesman", {"code/main.py": "name = 'other'\n"})
        source = (
            "from skills.acme import sales, salesman\n"
            "from skills.acme.sales import report\n"
            "def main(): return [sales.name, report.name, salesman.name]\n"
        )
        for order in ([outer, inner, other], [other, inner, outer]):
            self.assertEqual(self.returns(source, skills=order), ["outer", "inner", "other"])
            self.doCleanups_of_skills()

    def doCleanups_of_skills(self):
        for name in [name for name in sys.modules if name.startswith("skills.")]:
            del sys.modules[name]

    def test_a_skill_that_is_not_mounted_is_named_with_the_remedy(self):
        skill = self.mount_skill("acme.sales", {"code/main.py": MAIN})
        for source in [
            "from skills.acme.purchases import main",
            "import skills.acme.purchases",
            "from skills.acme import purchases",
        ]:
            with self.subTest(source):
                report = self.fails(source, skills=[skill])
                self.assertEqual(report["type"], "ModuleNotFoundError")
                self.assertEqual(
                    report["message"],
                    "No module named 'skills.acme.purchases': no such skill is mounted in this "
                    "run; add its name to `mount_skills` (mounted: `acme.sales`)",
                )
        self.assertIn("(mounted: none)", self.fails("import skills.a")["message"])

    def test_a_name_that_a_skill_lacks_is_an_ordinary_import_error(self):
        skill = self.mount_skill("acme.sales", {"code/main.py": MAIN})
        report = self.fails("from skills.acme.sales import nothing", skills=[skill])
        self.assertEqual(report["type"], "ImportError")
        self.assertIn("cannot import name 'nothing' from 'skills.acme.sales'", report["message"])
        report = self.fails("import skills.acme.sales.nothing", skills=[skill])
        self.assertEqual(report["message"], "No module named 'skills.acme.sales.nothing'")

    def test_an_instruction_skill_has_no_code(self):
        guide = self.mount_skill("acme.guide", {"SKILL.md": "# Guide"}, entrypoint=None)
        report = self.fails("import skills.acme.guide", skills=[guide])
        self.assertEqual(report["type"], "ImportError")
        self.assertIn("the skill `acme.guide` has no code to import", report["message"])
        below = self.mount_skill("acme.guide.tool", {"code/main.py": MAIN})
        source = "from skills.acme.guide.tool import main"
        self.assertEqual(self.returns(source, skills=[guide, below]), {"got": {}})

    def test_a_failure_while_importing_shows_the_skill_s_file(self):
        skill = self.mount_skill("acme.bad", {"code/main.py": "import json\n1 / 0\n"})
        report = self.fails("import skills.acme.bad", skills=[skill])
        path = f"{places.SKILLS}/acme.bad/code/main.py"
        self.assertIn(f'File "{path}", line 2, in <module>\n    1 / 0', report["traceback"])
        skill = self.mount_skill("acme.worse", {"code/main.py": "def main(:\n"})
        report = self.fails("import skills.acme.worse", skills=[skill])
        self.assertEqual(report["type"], "SyntaxError")
        self.assertIn('acme.worse/code/main.py", line 1', report["traceback"])

    def test_a_skill_that_failed_to_import_can_be_tried_again(self):
        skill = self.mount_skill("acme.flaky", {"code/main.py": "import os\nos.environ['READY']\n"})
        source = (
            "import os\n"
            "def main():\n"
            "    try:\n"
            "        import skills.acme.flaky\n"
            "    except KeyError:\n"
            "        os.environ['READY'] = '1'\n"
            "    import skills.acme.flaky\n"
            "    return skills.acme.flaky.__name__\n"
        )
        self.assertEqual(self.returns(source, skills=[skill]), "skills.acme.flaky")

    def test_the_entrypoint_may_lie_anywhere_in_the_skill(self):
        skill = self.mount_skill(
            "acme.flat",
            {"run.py": "import helper\ndef go(args): return helper.x\n", "helper.py": "x = 3"},
            entrypoint="run.py",
            export="go",
        )
        self.assertEqual(self.run_skill(skill), ("returned", 3))


class WithinSkills(Sandbox):
    def test_every_skill_sees_its_own_files(self):
        skills = [
            self.mount_skill(
                f"acme.{name}",
                {
                    "code/main.py": "import utils\nfrom utils import name\n"
                    "def main(args):\n    import utils as later\n"
                    "    assert later is utils\n    return name\n",
                    "code/utils.py": f"name = '{name}'\n",
                },
            )
            for name in ("one", "two")
        ]
        source = (
            "from skills.acme import one, two\n"
            "import skills.acme.one.utils\n"
            "def main(args):\n"
            "    assert skills.acme.one.utils is one.utils is not two.utils\n"
            "    return [one.main({}), two.main({})]\n"
        )
        self.assertEqual(self.returns(source, skills=skills), ["one", "two"])
        self.assertNotIn("utils", sys.modules)

    def test_the_forms_of_import(self):
        skill = self.mount_skill(
            "acme.forms",
            {
                "code/main.py": "import helper\nimport parts.inner\nimport parts.inner as inner\n"
                "from parts import inner as same, SIZE\nfrom parts.inner import *\n"
                "from .helper import one\nfrom . import helper as again\nimport loose.file\n"
                "def main(args):\n"
                "    assert parts.inner is inner is same and helper is again\n"
                "    return [one, SIZE, two, loose.file.three, inner.entry.main is main]\n",
                "code/helper.py": "one = 1\n",
                "code/parts/__init__.py": "SIZE = 9\n",
                "code/parts/inner.py": "import main as entry\ntwo = 2\n",
                "code/loose/file.py": "three = 3\n",
            },
        )
        self.assertEqual(self.run_skill(skill), ("returned", [1, 9, 2, 3, True]))

    def test_the_entrypoint_imported_from_beside_it_is_the_same_module(self):
        skill = self.mount_skill(
            "acme.circle",
            {
                "code/main.py": "state = []\ndef main(args):\n    import other\n"
                "    other.fill()\n    return state\n",
                "code/other.py": "import main\nfrom main import state\n"
                "def fill():\n    assert main.state is state\n    state.append(1)\n",
            },
        )
        self.assertEqual(self.run_skill(skill), ("returned", [1]))

    def test_the_standard_library_and_runtime_are_never_shadowed(self):
        skill = self.mount_skill(
            "acme.shadow",
            {
                "code/main.py": "import json, runtime, skills\n"
                "def main(args):\n    return [json.dumps(1), hasattr(runtime, 'blobs')]\n",
                "code/json.py": "raise AssertionError",
                "code/runtime.py": "raise AssertionError",
                "code/skills.py": "raise AssertionError",
            },
        )
        self.assertEqual(self.run_skill(skill), ("returned", ["1", True]))

    def test_a_function_called_like_a_file_keeps_its_name(self):
        skill = self.mount_skill(
            "acme.load",
            {
                "code/main.py": "def load(x):\n    return ['function', x]\n"
                "def main(args):\n    from load import value\n    return load(value)\n",
                "code/load.py": "value = 5\n",
            },
        )
        self.assertEqual(self.run_skill(skill), ("returned", ["function", 5]))

    def test_a_function_called_like_a_skill_below_keeps_its_name(self):
        outer = self.mount_skill(
            "acme.sales",
            {"code/main.py": "def report(): return 1\ndef main(args): return report()\n"},
        )
        inner = self.mount_skill("acme.sales.report", {"code/main.py": MAIN})
        source = (
            "from skills.acme.sales import main as outer\n"
            "from skills.acme.sales.report import main as inner\n"
            "def main(args): return [outer({}), inner({})]\n"
        )
        self.assertEqual(self.returns(source, skills=[outer, inner]), [1, {"got": {}}])

    def test_a_file_called_like_another_mounted_skill_is_found(self):
        outer = self.mount_skill(
            "acme.sales",
            {
                "code/main.py": "import report\nfrom report import who\n"
                "def main(args):\n    return [report.who, who, report.__name__]\n",
                "code/report.py": "who = 'file'\n",
            },
        )
        inner = self.mount_skill("acme.sales.report", {"code/main.py": "who = 'skill'\n"})
        source = (
            "from skills.acme.sales import main as file\n"
            "from skills.acme.sales.report import who\n"
            "def main(args): return [file({}), who]\n"
        )
        value = self.returns(source, skills=[outer, inner])
        name = "skills.acme.sales.__code__.report"
        self.assertEqual(value, [["file", "file", name], "skill"])

    def test_a_skill_can_use_another_one(self):
        base = self.mount_skill("acme.base", {"code/main.py": MAIN})
        user = self.mount_skill(
            "acme.user",
            {
                "code/main.py": "from skills.acme.base import main as base\n"
                "def main(args): return base(args)\n"
            },
        )
        self.assertEqual(self.run_skill(user, base, args={"a": 1}), ("returned", {"got": {"a": 1}}))

    def test_a_missing_module_is_an_ordinary_error(self):
        skill = self.mount_skill("acme.sales", {"code/main.py": "import nothing_like_it\n"})
        end, report = self.run_skill(skill)
        self.assertEqual(end, "raised")
        self.assertEqual(
            report["message"],
            "No module named 'nothing_like_it': it is not installed, and nothing can be "
            "installed; load_skills_protocol_guide lists what is; a skill has others that `wardian skills "
            "deps lock` has locked",
        )

    def test_resources_are_found_beside_the_code(self):
        skill = self.mount_skill(
            "acme.files",
            {
                "code/main.py": "import importlib.resources, inspect, os, pathlib\n"
                "def main(args):\n"
                "    beside = pathlib.Path(__file__).parent / 'table.csv'\n"
                "    above = pathlib.Path(__file__).parent.parent / 'resources' / 'a.txt'\n"
                "    packed = importlib.resources.files(__name__) / 'table.csv'\n"
                "    return [__file__, beside.read_text(), above.read_text(),\n"
                "            packed.read_text(), inspect.getsource(main)[:8]]\n",
                "code/table.csv": "a,b\n",
                "resources/a.txt": "text",
            },
        )
        file = f"{places.SKILLS}/acme.files/code/main.py"
        self.assertEqual(
            self.run_skill(skill), ("returned", [file, "a,b\n", "text", "a,b\n", "def main"])
        )

    def test_classes_of_skills_can_be_pickled(self):
        skill = self.mount_skill(
            "acme.classes",
            {
                "code/main.py": "import pickle\nfrom shapes import Point\n"
                "def main(args):\n"
                "    return pickle.loads(pickle.dumps(Point(3))).x\n",
                "code/shapes.py": "import dataclasses\n@dataclasses.dataclass\nclass Point:\n"
                "    x: int\n",
            },
        )
        self.assertEqual(self.run_skill(skill), ("returned", 3))

    def test_import_module_finds_the_files_of_the_program(self):
        skill = self.mount_skill(
            "acme.dynamic",
            {
                "code/main.py": "import importlib\n"
                "def main(args): return importlib.import_module('plugin_file').x\n",
                "code/plugin_file.py": "x = 4\n",
            },
        )
        self.addCleanup(sys.modules.pop, "plugin_file", None)
        self.assertEqual(self.run_skill(skill), ("returned", 4))

    def test_nothing_is_written_and_no_folder_is_listed(self):
        skill = self.mount_skill(
            "acme.quiet",
            {
                "code/main.py": "import utils\ndef main(args): return utils.x\n",
                "code/utils.py": "x = 1\n",
            },
        )
        import os

        with (
            mock.patch("os.listdir", side_effect=AssertionError),
            mock.patch("os.scandir", side_effect=AssertionError),
        ):
            self.assertEqual(self.run_skill(skill), ("returned", 1))
        self.assertEqual(
            sorted(os.listdir(f"{places.SKILLS}/acme.quiet/code")), ["main.py", "utils.py"]
        )


class AsPrograms(Sandbox):
    def test_the_export_is_called_with_the_arguments(self):
        skill = self.mount_skill(
            "acme.pay", {"code/pay.py": "def charge(args): return args\n"}, "code/pay.py", "charge"
        )
        self.assertEqual(self.run_skill(skill, args={"a": 1}), ("returned", {"a": 1}))

    def test_guarded_code_does_not_run(self):
        guarded = MAIN + "if __name__ == '__main__':\n    raise AssertionError\n"
        skill = self.mount_skill("acme.guarded", {"code/main.py": guarded})
        self.assertEqual(self.run_skill(skill), ("returned", {"got": {}}))

    def test_a_missing_export_is_named(self):
        skill = self.mount_skill("acme.none", {"code/main.py": "def run(args): pass\n"})
        end, report = self.run_skill(skill)
        self.assertEqual((end, report["type"]), ("raised", "EntrypointNotFound"))
        self.assertEqual(
            report["message"],
            "`code/main.py` does not define the function `main`; it defines `run`; "
            "put the code into `def main(args):` and return the result",
        )

    def test_a_missing_file_is_a_failure(self):
        skill = self.mount_skill("acme.empty", {"SKILL.md": ""})
        end, report = self.run_skill(skill)
        self.assertEqual((end, report["type"]), ("raised", "FileNotFoundError"))

    def test_an_instruction_skill_cannot_run(self):
        skill = self.mount_skill("acme.guide", {"SKILL.md": ""}, entrypoint=None)
        end, report = self.run_skill(skill)
        self.assertEqual((end, report["type"]), ("raised", "EntrypointNotFound"))

    def test_sys_exit_is_a_failure_also_while_importing(self):
        skill = self.mount_skill("acme.exit", {"code/main.py": "import sys\nsys.exit(0)\n"})
        end, report = self.run_skill(skill)
        self.assertEqual((end, report["type"]), ("raised", "SystemExit"))

    def test_a_file_in_another_encoding_says_so_itself(self):
        skill = self.mount_skill("acme.latin", {"code/main.py": ""})
        with open(f"{places.SKILLS}/acme.latin/code/main.py", "wb") as file:
            file.write(b"# -*- coding: latin-1 -*-\ndef main(args): return '\xe9'\n")
        self.assertEqual(self.run_skill(skill), ("returned", "é"))
