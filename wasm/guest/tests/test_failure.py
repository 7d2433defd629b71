"""How failures are reported, and that nothing a program does prevents the report."""

from __future__ import annotations

import sys
import unittest

from _wardian import failure, places, trace
from tests.support import Sandbox


class Reports(Sandbox):
    def test_an_exception_is_reported_with_class_message_and_the_lines_of_the_user(self):
        report = self.fails("def main(args):\n    x = args['rows']\n    return x\n")
        self.assertEqual((report["type"], report["message"]), ("KeyError", "'rows'"))
        lines = report["traceback"].split("\n")
        self.assertEqual(
            lines[:3],
            [
                "Traceback (most recent call last):",
                '  File "main.py", line 2, in main',
                "    x = args['rows']",
            ],
        )
        self.assertEqual(lines[-1], "KeyError: 'rows'")

    def test_frames_of_the_library_are_folded(self):
        report = self.fails("import json\ndef main(args):\n    return json.loads('{x')\n")
        self.assertEqual(report["type"], "JSONDecodeError")
        lines = report["traceback"].split("\n")
        self.assertEqual(lines[1], '  File "main.py", line 3, in main')
        self.assertRegex(
            lines[-2],
            r"^  \[\d frames of json, the last in json/decoder.py, line \d+, in raw_decode\]$",
        )

    def test_runs_of_library_frames_are_folded_each(self):
        report = self.fails(
            "import functools, json, statistics\n"
            "def bad(values): return json.loads('x')\n"
            "class T(dict):\n"
            "    __missing__ = lambda self, key: bad(key)\n"
            "def main(args): return __import__('string').Template('$a').substitute(T())\n"
        )
        shown = [line for line in report["traceback"].split("\n") if line.startswith("  ")]
        kinds = ["fold" if line.startswith("  [") else "frame" for line in shown if line[2] != " "]
        self.assertEqual(kinds, ["frame", "fold", "frame", "frame", "fold"], report["traceback"])

    def test_what_packages_raise_one_from_the_other_is_named(self):
        file = f"{places.LIBRARY}/acme_client/session.py"
        library = (
            "def one():\n    raise OSError('first')\n"
            "def two():\n    try:\n        one()\n"
            "    except OSError as error:\n        raise ValueError('second') from error\n"
            "def three():\n    try:\n        two()\n"
            "    except ValueError as error:\n        raise KeyError('third') from error\n"
            "def get():\n    try:\n        three()\n"
            "    except KeyError:\n        raise RuntimeError('fourth')\n"
        )
        report = self.fails(
            f"names = {{}}\nexec(compile({library!r}, {file!r}, 'exec'), names)\n"
            "def main(args):\n    return names['get']()\n"
        )
        self.assertEqual(
            report["traceback"],
            "Traceback (most recent call last):\n"
            "  [2 frames of acme_client, the last in acme_client/session.py, line 2, in one]\n"
            "OSError: first\n"
            "[which led to ValueError, KeyError]\n"
            "\nDuring handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\n"
            '  File "main.py", line 4, in main\n    return names[\'get\']()\n'
            + ("           ~~~~~~~~~~~~^^\n" if sys.version_info >= (3, 13) else "           ^^^^^^^^^^^^^^\n")
            + "  [1 frame of acme_client: acme_client/session.py, line 17, in get]\n"
            "RuntimeError: fourth",
        )

    def test_an_error_that_a_package_raises_twice_is_shown_once(self):
        file = f"{places.LIBRARY}/acme_table.py"
        library = (
            "def get(key):\n    try:\n        return {}[key]\n"
            "    except KeyError as error:\n        raise KeyError(key) from error\n"
        )
        source = (
            f"names = {{}}\nexec(compile({library!r}, {file!r}, 'exec'), names)\n"
            f"exec(compile('def last(key): get(key)', 'acme/_lib.pyx', 'exec'), names)\n"
            "def main(args):\n    return names['last']('b')\n"
        )
        lines = self.fails(source)["traceback"].split("\n")
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertEqual(
            lines[-2:],
            ["  [2 frames of acme and acme_table, the last in acme_table.py, line 5, in get]",
             "KeyError: 'b'"],
        )  # fmt: skip
        self.assertEqual(sum("File" in line for line in lines), 1)

    def test_what_a_program_prints_itself_is_not_folded(self):
        self.returns(
            "import json, traceback\n"
            "try:\n    json.loads('x')\nexcept ValueError:\n    traceback.print_exc()\n"
        )
        self.assertIn("json/decoder.py", self.complained)
        self.assertNotIn("frames of json", self.complained)

    def test_frames_of_the_event_loop_above_the_user_are_left_out(self):
        source = "import asyncio\nasync def main(args):\n    await asyncio.sleep(0)\n    1 / 0\n"
        report = self.fails(source)
        frames = [line for line in report["traceback"].split("\n") if "File" in line]
        self.assertEqual(frames, ['  File "main.py", line 4, in main'])

    def test_our_own_frames_are_never_shown(self):
        for source in [
            "from runtime import blobs\nblobs.read_text('blob:none')",
            "from runtime import blobs\ntry:\n    blobs.write_json({1})\n"
            "except TypeError as e:\n    raise ValueError from e",
            "import skills.acme.none",
        ]:
            with self.subTest(source):
                report = self.fails(source)
                self.assertNotIn("wardian", report["traceback"])
                self.assertNotIn("importlib", report["traceback"])
                self.assertIn('File "main.py"', report["traceback"])

    def test_a_syntax_error_shows_its_line_and_caret(self):
        report = self.fails("x = 1\ndef main(args)\n    pass\n")
        self.assertEqual(report["type"], "SyntaxError")
        self.assertRegex(report["message"], r"main\.py, line 2")
        self.assertIn('  File "main.py", line 2\n    def main(args)\n', report["traceback"])
        self.assertIn("^\nSyntaxError:", report["traceback"])
        self.assertNotIn("Traceback", report["traceback"])

    def test_source_that_is_no_text_at_all_is_a_failure(self):
        for source in ["x = '\ud800'", "x = 1\0"]:
            with self.subTest(source):
                self.assertIn(
                    self.fails(source)["type"], ("SyntaxError", "ValueError", "UnicodeEncodeError")
                )

    def test_causes_contexts_notes_and_groups_are_shown(self):
        report = self.fails(
            "def main():\n"
            "    try:\n"
            "        1 / 0\n"
            "    except ZeroDivisionError as cause:\n"
            "        error = ValueError('second')\n"
            "        error.add_note('a note')\n"
            "        raise error from cause\n"
        )
        self.assertIn(
            "ZeroDivisionError: division by zero\n\nThe above exception was the direct",
            report["traceback"],
        )
        self.assertTrue(report["traceback"].endswith("ValueError: second\na note"))
        report = self.fails("def main(): raise ExceptionGroup('two', [ValueError(1), OSError(2)])")
        self.assertEqual(report["message"], "two (2 sub-exceptions)")
        self.assertIn("| ValueError: 1", report["traceback"])

    def test_a_circle_of_causes_ends(self):
        report = self.fails(
            "def main():\n"
            "    a, b = ValueError('a'), ValueError('b')\n"
            "    a.__cause__, b.__cause__ = b, a\n"
            "    raise a\n"
        )
        self.assertEqual(report["message"], "a")
        self.assertIn("ValueError: b", report["traceback"])

    def test_leaving_through_sys_exit_is_a_failure_that_names_the_code(self):
        for code, message in [
            ("", "the program called sys.exit() instead of returning a value"),
            ("0", "the program called sys.exit(0) instead of returning a value"),
            ("3", "the program called sys.exit(3) instead of returning a value"),
            ("'bad input'", "bad input"),
        ]:
            with self.subTest(code):
                report = self.fails(f"import sys\ndef main(args): sys.exit({code})")
                self.assertEqual((report["type"], report["message"]), ("SystemExit", message))

    def test_a_script_may_end_itself(self):
        for code in ("", "0", "None", "False"):
            self.assertIsNone(self.returns(f"import sys\nsys.exit({code})"))
        self.assertEqual(self.fails("import sys\nsys.exit(2)")["type"], "SystemExit")

    def test_other_ways_to_leave_are_reported_too(self):
        for name in ("KeyboardInterrupt", "GeneratorExit", "BaseException", "StopIteration"):
            with self.subTest(name):
                self.assertEqual(self.fails(f"def main(): raise {name}('x')")["type"], name)

    def test_a_full_memory_is_reported(self):
        report = self.fails("def main():\n    raise MemoryError\n")
        self.assertEqual(report["type"], "MemoryError")
        self.assertEqual(report["message"], "the program needs more memory than it may use")


class Bounds(Sandbox):
    def test_a_message_of_any_size_is_cut(self):
        for source in ["raise ValueError('x' * 10**7)", "raise ValueError('é' * 10**6)"]:
            report = self.fails(source)
            self.assertLessEqual(len(report["message"].encode()), failure.MESSAGE_MAX)
            self.assertGreater(len(report["message"].encode()), failure.MESSAGE_MAX - 8)
            self.assertTrue(report["message"].endswith("…"))
            self.assertLessEqual(len(report["traceback"].encode()), trace.TEXT_MAX)

    def test_a_deep_traceback_keeps_both_ends(self):
        source = (
            "def a(n):\n    if n == 0: raise ValueError('deep')\n    return b(n - 1)\n"
            "def b(n):\n    return a(n)\n"
            "def main(): return a(100)\n"
        )
        report = self.fails(source)
        lines = report["traceback"].split("\n")
        frames = [line for line in lines if line.startswith("  File")]
        self.assertEqual(len(frames), trace.FRAMES_MAX)
        self.assertIn("  [162 frames left out]", lines)
        self.assertEqual(frames[0], '  File "main.py", line 6, in main')
        self.assertEqual(frames[-1], '  File "main.py", line 2, in a')

    def test_endless_recursion_is_told_in_a_few_lines(self):
        report = self.fails("def f(n): return f(n + 1)\ndef main(): return f(0)")
        self.assertEqual(report["type"], "RecursionError")
        self.assertRegex(report["traceback"], r"  \[\d+ frames left out\]")
        self.assertIn("more times]", report["traceback"])
        self.assertLess(report["traceback"].count("\n"), 30)

    def test_a_chain_of_any_length_is_cut(self):
        source = (
            "def main():\n"
            "    error = None\n"
            "    for i in range(20_000):\n"
            "        last, error = error, ValueError(i)\n"
            "        error.__cause__ = last\n"
            "    raise error\n"
        )
        report = self.fails(source)
        self.assertEqual(report["message"], "19999")
        self.assertEqual(report["traceback"].count("ValueError"), trace.CHAIN_MAX)

    def test_a_group_of_any_size_is_cut(self):
        source = (
            "def fail(i):\n"
            "    try:\n"
            "        raise ValueError(f'#{i}')\n"
            "    except ValueError as error:\n"
            "        return error\n"
            "def main(): raise ExceptionGroup('many', [fail(i) for i in range(5000)])\n"
        )
        report = self.fails(source)
        self.assertEqual(report["message"], "many (5000 sub-exceptions)")
        self.assertEqual(report["traceback"].count("ValueError: #"), trace.GROUP_MAX)

    def test_what_is_cut_off_a_chain_is_not_freed(self):
        kept = len(trace._never_freed)
        self.fails(
            "def main():\n"
            "    error = None\n"
            "    for i in range(100):\n"
            "        last, error = error, ValueError(i)\n"
            "        error.__cause__ = last\n"
            "    raise error\n"
        )
        self.assertEqual(len(trace._never_freed), kept + 1)
        self.assertEqual(str(trace._never_freed[-1]), "83")

    def test_groups_in_groups_of_any_depth_are_cut(self):
        source = (
            "def main():\n"
            "    group = ExceptionGroup('g', [ValueError('#')] * 9)\n"
            "    for _ in range(60):\n"
            "        group = ExceptionGroup('g', [group, group])\n"
            "    group.add_note('a note')\n"
            "    raise group\n"
        )
        report = self.fails(source)
        self.assertEqual(report["message"], "g (2 sub-exceptions)")
        self.assertIn("Exception: g [members left out]", report["traceback"])
        self.assertIn("a note", report["traceback"])
        self.assertLess(report["traceback"].count("ExceptionGroup"), trace.CHAIN_MAX)

    def test_a_long_text_loses_its_middle(self):
        text = trace._cut_middle("a" * 5000 + "é" * 20000 + "z" * 5000, 1000)
        self.assertLessEqual(len(text.encode()), 1000)
        self.assertTrue(text.startswith("aaa") and text.endswith("zzz"))


class Hostility(Sandbox):
    """Each of these once more than tries to prevent, or to double, the report."""

    def assert_reported(self, source, *types):
        report = self.fails(source)
        self.assertIn(report["type"], types)
        return report

    def test_an_exception_that_cannot_be_printed(self):
        for body in [
            "raise ValueError('no')",
            "raise SystemExit(0)",
            "return 5",
            "raise self",
            "return str.__new__(Text, 'x')",
        ]:
            source = (
                "class Text(str):\n"
                "    def encode(self, *a): raise KeyboardInterrupt\n"
                "    __len__ = __getitem__ = __str__ = __format__ = encode\n"
                "class Bad(Exception):\n"
                f"    def __str__(self): {body}\n"
                "    __repr__ = __str__\n"
                "    @property\n"
                "    def __notes__(self): raise KeyboardInterrupt\n"
                "def main(): raise Bad\n"
            )
            with self.subTest(body):
                self.assert_reported(source, "Bad")

    def test_a_metaclass_that_lies(self):
        source = (
            "class Meta(type):\n"
            "    def __getattribute__(cls, name): raise SystemExit(0)\n"
            "class Bad(Exception, metaclass=Meta): pass\n"
            "def main(): raise Bad('x')\n"
        )
        self.assert_reported(source, "Bad")

    def test_an_exception_that_claims_other_classes(self):
        source = (
            "class Bad(Exception):\n"
            "    @property\n"
            "    def __class__(self): raise RuntimeError\n"
            "    def __getattribute__(self, name): raise RuntimeError(name)\n"
            "def main(): raise Bad('x')\n"
        )
        self.assert_reported(source, "Bad")

    def test_a_broken_traceback_module(self):
        source = (
            "import linecache, traceback\n"
            "def main():\n"
            "    traceback.TracebackException.__init__ = None\n"
            "    linecache.getline = linecache.checkcache = None\n"
            "    linecache.cache = None\n"
            "    raise ValueError('still told')\n"
        )
        import linecache
        import traceback

        init = traceback.TracebackException.__init__
        self.addCleanup(setattr, traceback.TracebackException, "__init__", init)
        for name in ("getline", "checkcache", "cache"):
            self.addCleanup(setattr, linecache, name, getattr(linecache, name))
        report = self.assert_reported(source, "ValueError")
        self.assertEqual(report["message"], "still told")

    def test_rebound_builtins(self):
        import builtins

        names = ("len", "str", "isinstance", "type", "id", "print", "repr", "getattr", "hasattr")
        saved = {name: getattr(builtins, name) for name in names}
        answer, frames = self.answer, []

        def record(frame):
            if frame[0] not in (2, 3):
                return answer(frame)
            for name, value in saved.items():
                setattr(builtins, name, value)
            frames.append(frame)
            return answer(frame)

        self.answer = record
        assign = " = ".join(f"builtins.{name}" for name in names)
        for ending in ("return {'a': [1]}", "raise ValueError('x')"):
            self.run_code(f"import builtins\ndef main():\n    {assign} = None\n    {ending}\n")
        self.assertEqual(frames[0], b'\x02{"a":[1]}')
        self.assertTrue(frames[1].startswith(b'\x03{"type":"ValueError","message":"x"'), frames[1])

    def test_closed_and_replaced_streams(self):
        for source in [
            "import sys\ndef main():\n    sys.stdout.close()\n    sys.stderr.close()\n    return 1",
            "import sys\ndef main():\n    sys.stdout = sys.stderr = None\n    return 1",
            "import sys\ndef main():\n    del sys.stdout, sys.stderr\n    return 1",
            "import sys\nclass S:\n    def flush(self): sys.exit(0)\n    write = flush\n"
            "def main():\n    sys.stdout = S()\n    return 1",
        ]:
            with self.subTest(source):
                self.assertEqual(self.returns(source), 1)

    def test_a_stream_of_the_program_is_flushed(self):
        source = (
            "import sys\n"
            "def main():\n"
            "    sys.stdout = sys.kept = open('out.txt', 'w')\n"
            "    print('kept')\n"
        )
        self.returns(source)
        self.addCleanup(sys.kept.close)
        self.addCleanup(delattr, sys, "kept")
        with open("out.txt", encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept\n")

    def test_exit_handlers_run_and_cannot_prevent_the_report(self):
        source = (
            "import atexit, sys\n"
            "def main():\n"
            "    atexit.register(print, 'bye')\n"
            "    atexit.register(sys.exit, 5)\n"
            "    return 1\n"
        )
        self.assertEqual(self.returns(source), 1)
        self.assertIn("bye\n", self.printed)

    def test_replaced_modules(self):
        source = (
            "import sys\n"
            "def main():\n"
            "    for name in ('json', 'traceback', 'asyncio', '_wardian', 'os', 'runtime'):\n"
            "        sys.modules[name] = None\n"
            "    raise ValueError('x')\n"
        )
        self.assert_reported(source, "ValueError")


class Refusals(Sandbox):
    def test_a_refused_result_becomes_a_failure(self):
        from tests.support import Refusal

        self.refusals[2] = Refusal("HostCallLimit", "too many bytes")
        report = self.fails("def main(): return 1")
        self.assertEqual(
            report, {"type": "HostCallLimit", "message": "too many bytes", "traceback": None}
        )


class LastResorts(unittest.TestCase):
    def test_the_frames_made_in_advance_are_valid(self):
        import json

        for frame in (failure._OUT_OF_MEMORY, failure._UNSPEAKABLE):
            self.assertEqual(frame[:1], b"\x03")
            self.assertEqual(sorted(json.loads(frame[1:])), ["message", "traceback", "type"])

    def test_a_memory_error_while_reporting_is_reported(self):
        class Greedy(MemoryError):
            def __str__(self):
                raise MemoryError

        self.assertEqual(failure.raised(Greedy("x")), failure._OUT_OF_MEMORY)

    def test_memory_held_by_frames_is_given_back_first(self):
        import weakref

        class Large:
            pass

        def fill():
            large = Large()
            held.append(weakref.ref(large))
            raise MemoryError

        held = []
        try:
            fill()
        except MemoryError as error:
            failure.raised(error)
            self.assertIsNone(held[0]())


if __name__ == "__main__":
    unittest.main()
