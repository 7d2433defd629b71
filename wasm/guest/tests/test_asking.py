"""What a cell asks of its caller, and how it goes on with the answers."""

from __future__ import annotations

import getpass
import sys
from unittest import mock

from _wardian import asking, cells, library
from tests.support import Sandbox


class Tools(Sandbox):
    def test_a_guest_without_numbers_counts_its_cells_and_no_waits(self):
        def run(source, **fields):
            self.displayed = []
            return self.run_code(source, cell={"number": 0, "reseed": False, **fields})

        run("1")
        end, requests = run("x = await ainput()\nx")
        self.assertEqual(end, "waits", requests)
        answers = [{"number": self.requests[0]["number"], "output": "Ada"}]
        run("", answers=answers)
        end, value = run("len(In), In[3], Out[2]")
        self.assertEqual(value, [4, "len(In), In[3], Out[2]", "Ada"])

    def test_a_call_ends_the_turn_and_its_output_goes_on(self):
        source = "x = 1\nrows = await tools.query(table='sales', limit=3)\nx = 2\nlen(rows)"
        requests = self.waits(source, tools=["query"])
        expected = {"name": "query", "arguments": {"table": "sales", "limit": 3}}
        self.assertEqual(requests, [{"number": 1, "tool": expected}])
        self.assertEqual(cells._session.namespace["x"], 1)
        self.assertEqual(self.answers({"output": [1, 2, 3]}), ("returned", 3))
        self.assertEqual(self.gives("x, rows, _"), [2, [1, 2, 3], 3])

    def test_calls_follow_each_other(self):
        source = "total = 0\nfor n in range(3):\n    total += await tools.double(n=n)\ntotal"
        self.waits(source, tools=["double"])
        for number in range(1, 4):
            [request] = self.requests
            self.assertEqual(request["number"], number)
            end = self.answers({"output": request["tool"]["arguments"]["n"] * 2})
        self.assertEqual(end, ("returned", 6))

    def test_many_calls_wait_at_once(self):
        source = (
            "import asyncio\n"
            "await asyncio.gather(*(tools.f(n=n) for n in range(5)), asyncio.sleep(0.01, 'slept'))"
        )
        requests = self.waits(source, tools=["f"])
        self.assertEqual([one["tool"]["arguments"]["n"] for one in requests], [*range(5)])
        end = self.answers(*({"output": n * n} for n in range(5)))
        self.assertEqual(end, ("returned", [0, 1, 4, 9, 16, "slept"]))

    def test_a_round_has_bounds_and_the_rest_comes_in_the_next_one(self):
        source = "import asyncio\nsum(await asyncio.gather(*(tools.f(n=n) for n in range(5))))"
        with mock.patch.object(asking, "ROUND_MAX", 2):
            self.assertEqual(len(self.waits(source, tools=["f"])), 2)
            self.assertEqual(self.answers({"output": 1}, {"output": 2})[0], "waits")
            self.assertEqual([one["number"] for one in self.requests], [3, 4])
            self.answers({"output": 3}, {"output": 4})
            self.assertEqual(self.answers({"output": 5}), ("returned", 15))
        with mock.patch.object(asking, "ROUND_BYTES_MAX", 130):
            self.assertEqual(len(self.waits(source, tools=["f"])), 2)

    def test_an_error_is_raised_where_the_tool_was_called(self):
        self.waits(
            "try:\n    await tools.f()\nexcept tools.ToolError as error:\n"
            "    caught = [str(error), error.tool, type(error).__module__]\ncaught",
            tools=["f"],
        )
        self.assertEqual(
            self.answers({"error": "no such table"}),
            ("returned", ["no such table", "f", "runtime.tools"]),
        )
        self.waits("await tools.f()", tools=["f"])
        end, report = self.answers({"error": "no such table"})
        self.assertEqual((end, report["message"]), ("raised", "no such table"))
        self.assertIn("<cell 2>", report["traceback"])

    def test_a_function_calls_a_tool_without_await(self):
        self.held = [{"output": 3}, {"error": "no"}, {"output": 4}]
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        source = (
            "def call(n):\n    try:\n        return tools.f.sync(n=n)\n"
            "    except tools.ToolError as error:\n        return error.tool\n"
            "import asyncio\n[*map(call, (1, 2)), asyncio.run(tools.f())]"
        )
        self.assertEqual(self.run_code(source, cell=order), ("returned", [3, "f", 4]))
        self.assertEqual(self.asked[0]["tool"], {"name": "f", "arguments": {"n": 1}})
        self.cells = 1

    def test_a_caller_that_hears_along_answers_within_the_turn(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}], "is_heard": True}
        source = (
            "import asyncio\nfirst = await asyncio.gather(tools.f(n=1), tools.f(n=2))\n"
            "try:\n    await tools.f(n=3)\nexcept tools.ToolError as error:\n    first.append(str(error))\n"
            "first"
        )
        self.soon = [
            [{"number": 2, "output": 20}],
            [{"number": 1, "output": 10}],
            [{"number": 3, "error": "no"}],
        ]
        self.assertEqual(self.run_code(source, cell=order), ("returned", [10, 20, "no"]))
        self.assertEqual([one["number"] for one in self.asked], [1, 2, 1, 3])
        self.cells = 1

    def test_without_answers_that_soon_the_turn_ends(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}], "is_heard": True}
        source = "[await tools.f(n=n) for n in range(2)]"
        self.soon = [[{"number": 1, "output": 5}], []]
        end, requests = self.run_code(source, cell=order)
        self.assertEqual((end, [one["number"] for one in requests]), ("waits", [2]))
        self.assertEqual([one["number"] for one in self.asked], [1, 2])
        self.cells = 1
        # Nobody hears the next part.
        self.assertEqual(self.answers({"output": 6}), ("returned", [5, 6]))

    def test_an_interrupt_before_an_answer_is_raised_where_the_tool_was_called(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}], "is_heard": True}
        source = (
            "try:\n    await tools.f()\nexcept KeyboardInterrupt:\n    caught = 'caught'\n"
            "[caught, await tools.f()]"
        )
        self.soon = [KeyboardInterrupt(), [{"number": 2, "output": 7}]]
        self.assertEqual(self.run_code(source, cell=order), ("returned", ["caught", 7]))
        self.cells = 1

    def test_names_that_are_no_identifiers_have_underscores(self):
        [request] = self.waits("await tools.crm_find_leads()", tools=["crm/find-leads"])
        self.assertEqual(request["tool"]["name"], "crm/find-leads")
        self.answers({})

    def test_what_cannot_be_asked_is_refused_where_it_is_called(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        for source, kind, words in [
            ("await tools.g()", "AttributeError", "the call has declared f"),
            ("await tools.f(1)", "TypeError", "have names"),
            ("await tools.f(a=object())", "TypeError", "arguments"),
            ("await tools.f(a='x' * 300_000)", "ValueError", "runtime.blobs"),
        ]:
            with self.subTest(source):
                end, report = self.run_code(source, cell=order)
                self.assertEqual((end, report["type"]), ("raised", kind))
                self.assertIn(words, report["message"])
        self.assertEqual(asking._pending, {})

    def test_tools_are_those_of_the_call_and_stay_while_it_waits(self):
        self.waits("await tools.f()\nawait tools.f()", tools=["f"])
        self.assertEqual(self.answers({})[0], "waits")
        self.answers({})
        self.assertEqual(self.raises("await tools.f()")["type"], "AttributeError")
        self.waits("await tools.f()\nawait tools.g()", tools=["f"])
        self.assertEqual(self.answers({}, tools=[{"name": "g"}])[0], "waits")
        self.answers({})
        self.assertEqual(self.gives("from runtime import tools as t\ndir(t)"), [
            "ToolError", "call", "execute_skill", "getpass", "input", "list", "search"
        ])  # fmt: skip

    def test_a_name_of_the_program_is_not_replaced(self):
        self.gives("tools = [1]")
        source = "from runtime import tools as theirs\nawait theirs.f()\ntools"
        self.waits(source, tools=["f"])
        self.assertEqual(self.answers({}), ("returned", [1]))

    def test_a_time_limit_of_the_program_does_not_end_while_it_waits(self):
        self.waits("import asyncio\nawait asyncio.wait_for(tools.f(), 0.05)", tools=["f"])
        self.assertEqual(self.answers({"output": 7}), ("returned", 7))

    def test_a_timer_that_gives_up_what_is_asked_lets_the_program_go_on(self):
        for source in (
            "try:\n    await asyncio.wait_for(tools.f(), 0)\nexcept TimeoutError:\n    e = 'late'\ne",
            "try:\n    async with asyncio.timeout(-1):\n        await tools.f()\n"
            "except TimeoutError:\n    e = 'late'\ne",
            "loop = asyncio.get_running_loop()\ntask = asyncio.ensure_future(tools.f())\n"
            "_ = loop.call_soon(loop.call_soon, loop.call_soon, task.cancel)\n"
            "try:\n    await task\nexcept asyncio.CancelledError:\n    e = 'late'\ne",
        ):
            with self.subTest(source):
                self.gives("import asyncio")
                order = {"number": 9, "reseed": False, "tools": [{"name": "f"}]}
                self.assertEqual(self.run_code(source, cell=order), ("returned", "late"))

    def test_a_timer_that_is_due_when_the_loop_is_stopped_gives_up_what_is_asked(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        is_asked, late = asking.is_asked, []

        def asked_once(loop):
            if late or not is_asked(loop):
                return is_asked(loop)
            late.append(True)
            loop.call_soon(cells._session.namespace["task"].cancel)
            return True

        source = (
            "import asyncio\ntask = asyncio.ensure_future(tools.f())\n"
            "try:\n    await task\nexcept asyncio.CancelledError:\n    e = 'given up'\ne"
        )
        with mock.patch.object(asking, "is_asked", asked_once):
            self.assertEqual(self.run_code(source, cell=order), ("returned", "given up"))
        self.cells = 1

    def test_a_call_that_is_given_up_is_not_asked_again(self):
        source = (
            "import asyncio\n"
            "first, second = (asyncio.create_task(tools.f(n=n)) for n in (1, 2))\n"
            "await first\nsecond.cancel()\nawait tools.g()"
        )
        self.assertEqual(len(self.waits(source, tools=["f", "g"])), 2)
        self.answers({"output": 1}, {"output": 2})
        self.assertEqual([one["tool"]["name"] for one in self.requests], ["g"])
        self.answers({})
        self.assertEqual(asking._pending, {})

    def test_a_task_of_an_earlier_cell_is_asked_for_with_the_next_one_that_waits(self):
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        source = "import asyncio\ntask = asyncio.create_task(tools.f(n=1))"
        self.assertEqual(self.run_code(source, cell=order), ("returned", None))
        self.cells = 1
        self.assertEqual(self.gives("task.done()"), False)
        self.assertEqual(self.waits("await ainput()\nawait task")[0]["input"]["prompt"], "")
        end, requests = self.answers({"output": ""}, tools=[{"name": "f"}])
        self.assertEqual((end, len(requests)), ("waits", 1))
        self.assertEqual(self.answers({"output": 5}), ("returned", 5))

    def test_an_exit_and_an_exception_end_a_cell_that_has_waited(self):
        self.waits("await tools.f()\nraise SystemExit", tools=["f"])
        self.assertEqual(self.answers({}), ("returned", None))
        self.waits("await tools.f()\n1 / 0", tools=["f"])
        self.assertEqual(self.answers({})[1]["type"], "ZeroDivisionError")
        self.assertEqual(self.gives("1"), 1)

    def test_the_times_of_a_cell_are_shown_once_at_its_end(self):
        self.waits("%%time\nawait tools.f()\n3", tools=["f"])
        self.assertNotIn("Wall time", self.printed)
        self.assertEqual(self.answers({}), ("returned", 3))
        self.assertEqual(self.printed.count("Wall time"), 1)

    def test_what_is_displayed_comes_with_its_turn(self):
        self.waits("display('before')\nawait tools.f()\ndisplay('after')", tools=["f"])
        self.assertEqual(self.displayed, [{"text/plain": "'before'"}])
        self.answers({})
        self.assertEqual(self.displayed, [{"text/plain": "'after'"}])

    def test_an_interrupt_is_raised_where_the_cell_waits(self):
        stop = {"interrupt": True}
        source = (
            "try:\n    await tools.f()\nexcept KeyboardInterrupt:\n    caught = True\n"
            "await tools.f()"
        )
        self.waits(source, tools=["f"])
        self.assertEqual(self.answers(stop)[0], "waits", "it is asked once more")
        end, report = self.answers(stop)
        self.assertEqual((end, report["type"]), ("raised", "KeyboardInterrupt"))
        self.assertIn("<cell 1>", report["traceback"])
        self.assertEqual(self.gives("caught"), True)

    def test_an_interrupt_of_several_calls_ends_the_cell_and_no_other_task(self):
        stop = {"interrupt": True}
        source = (
            "import asyncio\nother = asyncio.create_task(tools.g())\n"
            "await asyncio.gather(*(tools.f(n=n) for n in range(3)))"
        )
        self.assertEqual(len(self.waits(source, tools=["f", "g"])), 4)
        end, report = self.answers(stop, stop, stop, stop)
        self.assertEqual((end, report["type"]), ("raised", "KeyboardInterrupt"))
        self.assertEqual(len(asking._pending), 1, "that of the other task")
        [request] = self.waits("await other", tools=["g"])
        self.assertEqual(request["tool"]["name"], "g")
        self.assertEqual(self.answers({"output": 5}), ("returned", 5))

    def test_an_interrupt_in_the_middle_of_a_call(self):
        self.held = [{"interrupt": True}]
        order = {"number": 1, "reseed": False, "tools": [{"name": "f"}]}
        source = (
            "def call():\n    try:\n        return tools.f.sync()\n"
            "    except KeyboardInterrupt:\n        return 'stopped'\ncall()"
        )
        self.assertEqual(self.run_code(source, cell=order), ("returned", "stopped"))
        self.cells = 1

    def test_only_cells_ask(self):
        source = "import asyncio\nfrom runtime import tools\nasyncio.run(tools.input())"
        self.assertIn("session", self.fails(source)["message"])


class Lines(Sandbox):
    def test_a_line_of_text_is_asked_for(self):
        requests = self.waits("name = await ainput('Your name? \\ud800')\nname.upper()")
        asked = {"prompt": "Your name? ?", "hidden": False}
        self.assertEqual(requests, [{"number": 1, "input": asked}])
        self.assertEqual(self.answers({"output": "ada"}), ("returned", "ADA"))
        [request] = self.waits("await tools.getpass()", tools=["f"])
        self.assertEqual(request["input"], {"prompt": "Password: ", "hidden": True})
        self.assertEqual(self.answers({"output": 12}), ("returned", "12"))

    def test_input_outside_of_functions_waits_as_if_it_were_awaited(self):
        source = (
            "name = input('Name? ')\n"
            "if name:\n    ages = [int(input(f'Age {n}? ')) for n in range(2)]\n"
            "f'{name} {input()!r} {sum(ages)}'"
        )
        asked = [self.waits(source)[0]["input"]["prompt"]]
        for line in ("Ada", "1", "2"):
            self.answers({"output": line})
            asked.append(self.requests[0]["input"]["prompt"])
        self.assertEqual(asked, ["Name? ", "Age 0? ", "Age 1? ", ""])
        self.assertEqual(self.answers({"output": "x"}), ("returned", "Ada 'x' 3"))

    def test_a_cell_that_runs_a_loop_of_its_own_asks_in_the_middle_of_the_call(self):
        self.held = [{"output": "Ada"}]
        source = (
            "import asyncio\nname = input('Name? ')\nasync def main(): return name * 2\n"
            "asyncio.run(main())"
        )
        order = {"number": 1, "reseed": False}
        self.assertEqual(self.run_code(source, cell=order), ("returned", "AdaAda"))
        self.cells = 1

    def test_a_program_that_clears_its_names_can_ask_all_the_same(self):
        self.gives("globals().clear()")
        self.waits("input('a? ')")
        self.assertEqual(self.answers({"output": "x"}), ("returned", "x"))
        self.assertEqual(self.gives("[callable(display), len(In) > 2, __name__]"), [True, True, "__main__"])

    def test_an_input_of_the_program_is_its_own(self):
        self.assertEqual(self.gives("def input(a, b=1): return a + b\ninput(2, b=3)"), 5)
        self.gives("del input")
        source = "import io, sys\nsys.stdin = io.StringIO('line\\n')\ninput()"
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        self.assertEqual(self.gives(source), "line")
        self.gives("sys.stdin = sys.__stdin__")
        self.assertEqual(self.raises("input(1, 2)")["type"], "TypeError")
        self.assertEqual(self.raises("input(prompt=1)")["type"], "TypeError")

    def test_in_a_function_it_is_asked_in_the_middle_of_the_call(self):
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        sys.stdin = sys.__stdin__
        for source, value in [
            ("def f(): return input('Name? ')\nf()", "Ada"),
            ("(lambda: input())()", "Ada"),
            ("list(input() for _ in 'a')", ["Ada"]),
            ("import asyncio\nasyncio.run(ainput('Name? '))", "Ada"),
        ]:
            self.held = [{"output": "Ada"}]
            self.assertEqual(self.gives(source), value)
        self.held = [{"error": "nobody is there"}]
        self.assertEqual(self.raises("f()")["type"], "EOFError")
        self.assertEqual([one["number"] for one in self.asked], [1, 2, 3, 4, 5])

    def test_a_password_is_asked_for_and_not_shown(self):
        library.amend_getpass(getpass)
        hidden = {"prompt": "Key: ", "hidden": True}
        for source in (
            "import getpass\ngetpass.getpass('Key: ').upper()",
            "from getpass import getpass\ngetpass(prompt='Key: ', stream=None).upper()",
        ):
            [request] = self.waits(source)
            self.assertEqual(request["input"], hidden)
            self.assertEqual(self.answers({"output": "ada"}), ("returned", "ADA"))
        self.held = [{"output": "Ada"}]
        self.assertEqual(self.gives("def f(): return getpass()\nf()"), "Ada")
        self.assertEqual(self.asked[-1]["input"], {"prompt": "Password: ", "hidden": True})
        self.waits("getpass()")
        self.assertEqual(self.answers({"error": "nobody is there"})[1]["type"], "EOFError")
        self.assertEqual(self.gives("def getpass(a): return a\ngetpass(3)"), 3)
        source = "import getpass\ngetpass.getpass()"
        self.assertIn("nobody types here", self.fails(source)["message"])

    def test_a_line_that_does_not_come_is_the_end_of_the_file(self):
        self.waits("await ainput()")
        self.assertEqual(self.answers({"error": "nobody is there"})[1]["type"], "EOFError")

    def test_a_long_prompt_is_cut(self):
        [request] = self.waits("await ainput('ä' * 20_000)")
        self.assertEqual(len(request["input"]["prompt"]), asking.PROMPT_MAX // 2)
        self.answers({"output": ""})
