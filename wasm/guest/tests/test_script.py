"""Programs as models write them: with and without `main`, guarded, fenced, called by themselves."""

from __future__ import annotations

from tests.support import Sandbox

ONCE = "calls = []\n"


class Scripts(Sandbox):
    def test_a_script_answers_with_what_it_printed(self):
        self.assertIsNone(self.returns("x = 2\nprint('x is', x)\n"))
        self.assertEqual(self.printed, "x is 2\n")

    def test_a_script_answers_with_the_value_of_its_last_expression(self):
        for source, value in [
            ("1 + 1", 2),
            ("x = {'a': [1, 2]}\nx", {"a": [1, 2]}),
            ("def double(n):\n    return 2 * n\n\ndouble(4)\n", 8),
            ("'text'.upper()", "TEXT"),
            ("from __future__ import annotations\nx: int = 3\nx", 3),
            ("[n for n in range(3)]  # the list", [0, 1, 2]),
        ]:
            with self.subTest(source):
                self.assertEqual(self.returns(source), value)

    def test_what_is_no_value_is_none(self):
        for source in ["x = 1", "", "'''A docstring.'''", "print(1)", "x = 1\nx;", "...", "# only"]:
            with self.subTest(source):
                self.assertIsNone(self.returns(source))

    def test_a_last_value_that_is_no_json_is_shown_as_a_notebook_shows_it(self):
        for source, value in [
            ("range", "<class 'range'>"),
            ("{'a': object}", {"a": "<class 'object'>"}),
            ("{1: 'a', '1': 'b'}", "{1: 'a', '1': 'b'}"),
            ("class Odd:\n    def __repr__(self): raise ValueError\nOdd()",
             "<__main__.Odd whose repr failed: ValueError>"),
        ]:
            with self.subTest(source):
                self.assertEqual(self.returns(source), value)

    def test_a_last_value_is_converted_like_a_returned_one(self):
        source = "import datetime\n{datetime.date(2026, 1, 2)}"
        self.assertEqual(self.returns(source), ["2026-01-02"])
        self.assertEqual(self.converted["total"], 2)
        for refused in (source, "range", "{'a': float('nan')}", "{1: 'a', '1': 'b'}"):
            self.assertEqual(self.fails(refused, strict_output=True)["type"], "TypeError")

    def test_a_part_without_a_json_form_is_text_and_the_rest_stays(self):
        source = (
            "class Model:\n    def __repr__(self): return 'Model()'\n"
            "{'a': float('nan'), 'model': Model(), 'n': 2, 'all': [{'m': Model()}] * 3}"
        )
        value = {"a": None, "model": "Model()", "n": 2, "all": [{"m": "Model()"}] * 3}
        self.assertEqual(self.returns(source), value)
        notes = [(note["path"], note["to"], note["count"]) for note in self.converted["listed"]]
        text = "text (repr)"
        expected = [("$.a", "null", 1), ("$.model", text, 1), ("$.all[0].m", text, 3)]
        self.assertEqual(notes, expected)

    def test_an_object_that_becomes_text_has_one_note(self):
        source = "{'kept': {1, 2}, 'twins': {1: {3}, '1': 'b'}}"
        self.assertEqual(self.returns(source), {"kept": [1, 2], "twins": "{1: {3}, '1': 'b'}"})
        paths = [note["path"] for note in self.converted["listed"]]
        self.assertEqual((paths, self.converted["total"]), (["$.kept", "$.twins"], 2))

    def test_a_last_generator_is_asked_once_and_its_error_is_the_programs(self):
        source = "n = []\n(n.append(i) or i for i in range(3))\n"
        self.assertEqual(self.returns(source), [0, 1, 2])
        failure = self.fails("(1 / i for i in (1, 0))")
        self.assertEqual(failure["type"], "ZeroDivisionError")
        self.assertIn('File "main.py", line 1', failure["traceback"])

    def test_a_script_finds_the_arguments_of_its_call(self):
        self.assertEqual(self.returns("args['n'] * 2", args={"n": 4}), 8)
        self.assertEqual(self.returns("args"), {})

    def test_names_of_a_script_are_global(self):
        source = (
            "n = 3\ndef f():\n    return n\nclass A:\n    m = f()\n"
            "print([f() for _ in range(2)])\nA.m"
        )
        self.assertEqual(self.returns(source), 3)

    def test_an_error_of_the_last_expression_shows_its_line(self):
        failure = self.fails("x = 1\n\nx / 0\n")
        self.assertIn('File "main.py", line 3, in <module>\n    x / 0\n', failure["traceback"])

    def test_await_works_outside_of_functions(self):
        source = "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\n"
        self.assertEqual(self.returns(source + "await f(3)\n"), 3)
        self.assertEqual(self.returns(source + "x = await f(4)\nx + 1\n"), 5)
        for statement in (
            "async with asyncio.timeout(9):\n    x = 6\n",
            "async for x in g():\n    x += 5\n",
            "[x] = [x + 5 async for x in g()]\n",
        ):
            with self.subTest(statement):
                given = "async def g():\n    yield 1\n"
                self.assertEqual(self.returns(f"{source}{given}{statement}x\n"), 6)

    def test_the_last_expression_awaits_tasks_of_the_code(self):
        source = "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\n"
        for code in (
            "task = asyncio.create_task(f(3))\nawait task",
            "task = asyncio.create_task(f(3))\nawait asyncio.sleep(0)\nawait task",
            "async with asyncio.TaskGroup() as group:\n    task = group.create_task(f(3))\ntask.result()",
        ):
            with self.subTest(code):
                self.assertEqual(self.returns(source + code), 3)

    def test_a_script_may_end_itself(self):
        for stop in ["sys.exit()", "sys.exit(0)", "exit()", "quit()", "raise SystemExit"]:
            with self.subTest(stop):
                self.assertIsNone(self.returns(f"import sys\nprint(1)\n{stop}\nprint(2)\n"))
                self.assertEqual(self.printed, "1\n")
        self.assertEqual(self.fails("import sys\nsys.exit(3)")["type"], "SystemExit")
        self.assertEqual(self.fails("import sys\nsys.exit('no')")["message"], "no")


class OwnCalls(Sandbox):
    def test_a_main_that_is_called_by_the_program_runs_once(self):
        for call in [
            "main()",
            "print(main())",
            "result = main()",
            "result = main()\nprint(result)",
            "import sys\nsys.exit(main())",
            "if __name__ == '__main__':\n    main()",
            "if __name__ == '__main__':\n    print(main())",
            "if __name__ == '__main__':\n    import sys\n    sys.exit(main())",
            "def cli():\n    return main()\nif __name__ == '__main__':\n    cli()",
            "try:\n    main()\nexcept Exception as error:\n    print(error)",
            "for _ in range(1):\n    main()",
            "main(*[])",
        ]:
            body = "def main():\n    calls.append(1)\n    return {'n': len(calls)}\n"
            source = f"{ONCE}{body}{call}\n"
            with self.subTest(call):
                self.assertEqual(self.returns(source), {"n": 1})

    def test_a_main_that_is_awaited_by_the_program_runs_once(self):
        for call in [
            "asyncio.run(main())",
            "print(asyncio.run(main()))",
            "result = asyncio.run(main())",
            "if __name__ == '__main__':\n    asyncio.run(main())",
            "loop = asyncio.new_event_loop()\nloop.run_until_complete(main())",
            "await main()",
        ]:
            source = (
                f"import asyncio\n{ONCE}async def main():\n    calls.append(1)\n"
                f"    await asyncio.sleep(0)\n    return {{'n': len(calls)}}\n{call}\n"
            )
            with self.subTest(call):
                self.assertEqual(self.returns(source), {"n": 1})

    def test_the_program_s_own_arguments_count_without_others(self):
        demo = "\nif __name__ == '__main__':\n    print(main('four'))\n"
        self.assertEqual(self.returns("def main(text): return len(text)" + demo), 4)
        self.assertEqual(self.printed, "4\n")
        source = (
            "import argparse\n"
            "def main(argv=None):\n"
            "    parser = argparse.ArgumentParser()\n"
            "    parser.add_argument('--n', type=int, default=5)\n"
            "    return parser.parse_args(argv).n\n"
            "if __name__ == '__main__':\n    raise SystemExit(print(main()))\n"
        )
        self.assertEqual(self.returns(source), 5)

    def test_arguments_of_the_call_win(self):
        body = (
            f"{ONCE}def main(args):\n    calls.append(args)\n"
            "    return [args.get('n'), len(calls)]\n"
        )
        for call in [
            "main({'n': 1})",
            "print(main({'n': 1}))",
            "if __name__ == '__main__':\n    main({'n': 1})",
            "result = main({'n': 1})",
            "main(args)",
        ]:
            with self.subTest(call):
                args = {"n": 9}
                self.assertEqual(self.returns(body + call, args=args), [9, 1])
                self.assertEqual(self.returns(body + call, args=args, entrypoint="main"), [9, 1])

    def test_a_named_entrypoint_is_not_called_twice(self):
        body = f"{ONCE}def main(args=None):\n    calls.append(1)\n    return len(calls)\n"
        self.assertEqual(self.returns(body + "main()", entrypoint="main"), 1)
        self.assertEqual(self.returns(body + "x = main()\nprint(x)", entrypoint="main"), 1)
        other = body.replace("main", "work")
        self.assertEqual(self.returns(other + "work()", entrypoint="work"), 1)
        self.assertEqual(self.returns(other + "FIRST = [work()]", entrypoint="work"), 2)

    def test_a_main_that_fails_fails_the_run_once(self):
        source = f"{ONCE}def main():\n    print('ran')\n    raise ValueError('x')\nmain()\n"
        self.assertEqual(self.fails(source)["message"], "x")
        self.assertEqual(self.printed, "ran\n")

    def test_exit_codes_of_main_are_those_of_a_process(self):
        source = "import sys\ndef main():\n    return {value}\nsys.exit(main())\n"
        self.assertEqual(self.returns(source.format(value=0)), 0)
        self.assertIsNone(self.returns(source.format(value=None)))
        self.assertEqual(self.returns(source.format(value="{'a': 1}")), {"a": 1})
        self.assertEqual(self.fails(source.format(value=2))["type"], "SystemExit")

    def test_a_main_that_calls_itself_answers_with_the_outer_value(self):
        source = "def main(n=3):\n    return n + main(n - 1) if n else 0\nmain()\n"
        self.assertEqual(self.returns(source), 6)

    def test_a_main_that_nobody_calls_is_called(self):
        self.assertEqual(self.returns("def main(): return 3\nx = 1\n"), 3)
        self.assertEqual(self.returns("def main(args): return args\n'text'\n"), {})


class Wrapping(Sandbox):
    def test_markdown_fences_around_the_code_are_taken_off(self):
        for source in [
            "```python\nprint(3)\n```",
            "```\nprint(3)\n```\n",
            "\n```py\nprint(3)\n```  \n",
            "~~~python\nprint(3)\n~~~",
            "```python\r\nprint(3)\r\n```\r\n",
        ]:
            with self.subTest(source):
                self.returns(source)
                self.assertEqual(self.printed, "3\n")

    def test_lines_keep_their_numbers_within_a_fence(self):
        failure = self.fails("```python\nx = 1\n1 / 0\n```")
        self.assertIn("line 3", failure["traceback"])

    def test_fences_within_text_are_left_alone(self):
        source = 's = """\n```python\nx\n```\n"""\ns'
        self.assertEqual(self.returns(source), "\n```python\nx\n```\n")

    def test_a_byte_order_mark_is_no_code(self):
        self.assertEqual(self.returns("\ufeff1 + 1"), 2)

    def test_what_is_for_notebooks_is_told_as_such(self):
        for source, advice in [
            ("!pip install polars\nimport polars", "in the place of polars: use pandas"),
            ("%matplotlib inline\n", "begin with `%`"),
            ("!ls -l\n", "no other program can run"),
            ("pip install pandas\n", "nothing can be installed"),
            ("Here is the code:\n```python\nx = 1\n```\n", "without Markdown"),
        ]:
            with self.subTest(source):
                failure = self.fails(source)
                self.assertEqual(failure["type"], "SyntaxError")
                self.assertIn(advice, failure["message"])
        self.assertNotIn("notebook", self.fails("x = = 1\n")["message"])
