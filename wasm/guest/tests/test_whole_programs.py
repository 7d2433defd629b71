"""Programs that are no cells, and wait for their caller."""

from __future__ import annotations

from typing import Any

from _wardian import cells
from tests.support import Refusal, Sandbox, runner

SCRIPT = """
import asyncio
async def total(n):
    rows = await asyncio.gather(*(tools.f(n=k) for k in range(n)))
    return sum(rows)
print('before')
{end}
"""


class Programs(Sandbox):
    def begins(self, source: str, tools: Any = ("f",), **fields: Any) -> tuple[str, Any]:
        declared = [{"name": name} for name in tools]
        order = {"number": 1, "reseed": False, "program": True, "tools": declared}
        self.cells = 1
        self.forget()
        return self.run_code(source, cell=order, **fields)

    def forget(self) -> None:
        """Each program has a guest of its own."""
        cells.forget()
        runner.forget_run()

    def asks(self, source: str, count: int, **fields: Any) -> list[dict[str, Any]]:
        end, requests = self.begins(source, **fields)
        self.assertEqual((end, len(requests)), ("waits", count), requests)
        return requests

    def test_a_script_has_the_value_of_its_last_expression(self):
        self.asks(SCRIPT.format(end="await total(3)"), 3)
        ended = self.answers({"output": 1}, {"output": 2}, {"output": 3})
        self.assertEqual(ended, ("returned", 6))
        self.assertEqual(self.begins("1 + 1"), ("returned", 2))

    def test_main_is_called_with_the_arguments(self):
        source = SCRIPT.format(end="async def main(n, more=1):\n    return await total(n) + more")
        self.asks(source, 2, args={"n": 2})
        self.assertEqual(self.answers({"output": 1}, {"output": 2}), ("returned", 4))

    def test_an_entrypoint_is_called_and_guarded_code_does_not_run(self):
        source = (
            "async def work(args):\n    return [await tools.f(), args, __name__]\n"
            "if __name__ == '__main__':\n    1 / 0"
        )
        self.asks(source, 1, entrypoint="work", args={"a": 1})
        self.assertEqual(self.answers({"output": 7}), ("returned", [7, {"a": 1}, "main"]))

    def test_main_of_a_script_is_not_called_twice(self):
        source = "calls = []\nasync def main():\n    calls.append(await tools.f())\n    return calls"
        self.asks(source + "\nawait main()", 1)
        self.assertEqual(self.answers({"output": 1}), ("returned", [1]))

    def test_a_loop_of_the_program_asks_in_the_middle_of_a_call(self):
        self.held = [{"output": 1}, {"output": 2}]
        ended = self.begins(SCRIPT.format(end="def run():\n    return asyncio.run(total(2))\nrun()"))
        self.assertEqual(ended, ("returned", 3))
        self.held = [{"output": 5}]
        source = "def main(args):\n    from tools import f\n    return f.sync(n=1) + 1"
        self.assertEqual(self.begins(source), ("returned", 6))

    def test_the_only_loop_of_a_script_waits_without_a_worker(self):
        for end, value in [
            ("asyncio.run(total(2))", 3),
            ("value = asyncio.run(total(2))\nprint(value)\nvalue + 1", 4),
            ("if __name__ == '__main__':\n    asyncio.run(total(2))", None),
            ("async def main():\n    return await total(2)\nasyncio.run(main())", 3),
        ]:
            with self.subTest(end):
                self.asks(SCRIPT.format(end=end), 2)
                ended = self.answers({"output": 1}, {"output": 2})
                self.assertEqual(ended, ("returned", value))
        source = SCRIPT.format(end="asyncio.run(total(1))")
        self.asks(source, 1)
        end, report = self.answers({"error": "no"})
        self.assertIn("asyncio.run(total(1))", report["traceback"])

    def test_an_exception_and_an_exit_are_those_of_a_run(self):
        self.asks("await tools.f()\n1 / 0", 1)
        end, report = self.answers({"output": 1})
        self.assertEqual((end, report["type"]), ("raised", "ZeroDivisionError"))
        self.assertIn('File "main.py", line 2', report["traceback"])
        self.assertNotIn("_wardian", report["traceback"])
        self.asks("await tools.f()", 1)
        end, report = self.answers({"error": "no"})
        self.assertEqual((end, report["type"], report["message"]), ("raised", "ToolError", "no"))
        self.asks("import sys\nawait tools.f()\nsys.exit(0)", 1)
        self.assertEqual(self.answers({"output": 1}), ("returned", None))
        self.asks("import sys\nawait tools.f()\nsys.exit(3)", 1)
        self.assertEqual(self.answers({"output": 1})[0], "raised")
        self.assertEqual(self.begins("raise StopIteration(1)")[1]["type"], "StopIteration")

    def test_exit_handlers_run_at_the_end_alone(self):
        source = "import atexit\natexit.register(print, 'over')\nawait tools.f()\n1"
        self.asks(source, 1)
        self.assertEqual(self.printed, "")
        self.answers({"output": 1})
        self.assertEqual(self.printed, "over\n")

    def test_requests_are_told_when_they_are_made_and_once_more_with_the_end_of_the_turn(self):
        source = (
            "import asyncio\nasync def main():\n"
            "    first = asyncio.create_task(tools.f(n=1))\n    await asyncio.sleep(0)\n"
            "    print('goes on')\n    return [await tools.f(n=2), await first]"
        )
        requests = self.asks(source, 2)
        self.assertEqual((self.told, self.printed), (requests, "goes on\n"))
        answer = {"number": requests[1]["number"], "output": 2}
        order = {"number": 1, "reseed": False, "answers": [answer]}
        end, open_still = self.run_code("", cell=order)
        self.assertEqual((end, open_still, len(self.told)), ("waits", requests[:1], 2))
        self.assertEqual(self.answers({"output": 1}), ("returned", [2, 1]))

    def test_a_run_that_made_too_many_calls_asks_with_the_end_of_its_turn(self):
        self.refusals[14] = Refusal("HostCallLimit", "too many")
        self.asks("await tools.f()", 1)
        self.assertEqual((self.told, self.answers({"output": 1})), ([], ("returned", 1)))

    def test_tasks_end_with_what_was_awaited(self):
        source = (
            "import asyncio\nended = []\n"
            "async def other():\n    try:\n        await asyncio.sleep(60)\n"
            "    finally:\n        ended.append(1)\n"
            "async def main():\n    task = asyncio.create_task(other())\n"
            "    return await tools.f()\n"
        )
        self.asks(source, 1)
        self.assertEqual(self.answers({"output": 2}), ("returned", 2))

    def test_a_skill_waits_and_returns_what_its_function_does(self):
        code = (
            "from tools import crm\n"
            "async def main(args):\n    rows = await crm.find(query=args['query'])\n"
            "    return {'rows': rows, 'name': __name__}"
        )
        skill = self.mount_skill("acme.tool", {"code/main.py": code})
        order = {"number": 1, "reseed": False, "program": True, "tools": [{"name": "crm.find"}]}
        self.cells = 1
        self.forget()
        end, requests = self.run_skill(skill, cell=order, args={"query": "a"})
        self.assertEqual((end, requests[0]["tool"]["arguments"]), ("waits", {"query": "a"}))
        end, value = self.answers({"output": [1]})
        self.assertEqual((end, value["rows"]), ("returned", [1]))
