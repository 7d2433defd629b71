"""Cells: source texts that share one `__main__`, with what stays of one for the next."""

from __future__ import annotations

import io
import linecache
import os
import random
import signal
import sys
import tempfile
import weakref
from unittest import mock

from _wardian import (
    cells,
    forks,
    notebook,
    packages,
    platform,
    runner,
    signals,
    sockets,
    threads,
    trace,
)
from tests.support import Sandbox


class State(Sandbox):
    def test_a_missing_module_is_told_with_advice(self):
        report = self.raises("def f():\n    import nothing_like_it\nf()")
        expected = f"No module named 'nothing_like_it': {packages.NOT_INSTALLED}"
        self.assertEqual(report["message"], expected)
        self.assertIn(f"ModuleNotFoundError: {expected}", report["traceback"])

    def test_names_functions_and_modules_stay(self):
        self.gives("import math\nx = [1]\ndef double(n):\n    return n * len(x) * 2\n")
        self.gives("x.append(2)")
        self.assertEqual(self.gives("double(math.floor(3.5))"), 12)
        self.assertEqual(self.gives("__name__"), "__main__")
        self.assertTrue(self.gives("import __main__\n__main__.x is x"))

    def test_a_class_can_be_pickled_in_a_later_cell(self):
        self.gives("class Point:\n    def __init__(self, x): self.x = x\np = Point(3)")
        self.assertEqual(self.gives("import pickle\npickle.loads(pickle.dumps(p)).x"), 3)

    def test_an_exception_leaves_what_came_before_it(self):
        self.assertEqual(self.raises("x = 1\ny = 1 / 0\nz = 3")["type"], "ZeroDivisionError")
        self.assertEqual(self.gives("x, 'y' in globals(), 'z' in globals()"), [1, False, False])
        self.assertEqual(self.raises("def (")["type"], "SyntaxError")
        self.assertEqual(self.gives("x"), 1)

    def test_the_value_is_that_of_the_last_expression(self):
        for source, value in [
            ("1 + 1", 2),
            ("'a text alone'", "a text alone"),
            ("x = 3", None),
            ("x;", None),
            ("x ; # and a comment", None),
            ("(x)", 3),
            ("(x);", None),
            ("'ä' * 2;", None),
            ("f = 'a;'; f", "a;"),
            ("...", "Ellipsis"),
            ("...;", None),
            ("", None),
            ("# nothing", None),
            ("print(x)", None),
            ("```python\nx + 1\n```", 4),
        ]:
            with self.subTest(source):
                self.assertEqual(self.gives(source), value)

    def test_main_is_not_called_and_guarded_code_runs(self):
        self.gives("called = []\ndef main(args=None):\n    called.append(1)\n")
        self.assertEqual(self.gives("called"), [])
        self.gives("if __name__ == '__main__':\n    main()")
        self.assertEqual(self.gives("called"), [1])

    def test_arguments_are_those_of_the_last_call_that_had_some(self):
        self.assertEqual(self.gives("args", args={"a": 1}), {"a": 1})
        self.assertEqual(self.gives("args"), {"a": 1})
        self.assertEqual(self.gives("args", args={"b": 2}), {"b": 2})

    def test_the_last_values_and_the_sources_have_names(self):
        self.assertEqual(self.gives("_, __, ___"), ["", "", ""])
        self.gives("10")
        self.gives("20")
        self.gives("x = 5")
        self.assertEqual(self.gives("[_, __]"), [20, 10])
        self.assertEqual(self.gives("In[2]"), "10")
        self.assertEqual(self.gives("Out[3]"), 20)
        for number in range(5):
            self.gives(f"'value {number}'")
        self.assertEqual(self.gives("len(Out)"), 3)

    def test_a_program_may_use_the_name_of_the_last_value_itself(self):
        self.gives("def _(text): return text.upper()")
        self.gives("1 + 1")
        self.assertEqual(self.gives("_('a')"), "A")
        self.gives("for _ in range(3): pass")
        self.gives("7 * 6")
        self.assertEqual(self.gives("[_, Out[5]]"), [2, 42])

    def test_an_ellipsis_is_a_value(self):
        self.gives("...")
        self.assertEqual(self.gives("[_ is ..., Out[1] is ...]"), [True, True])

    def test_names_of_a_notebook_come_back_when_they_were_deleted(self):
        names = "[n for n in ('_', '__', 'In', 'Out', 'display', 'ainput', 'get_ipython') if n not in globals()]"
        self.gives("10")
        self.gives("20")
        self.gives("for k in list(globals()):\n    if not k.startswith('__'): del globals()[k]")
        self.assertEqual(self.gives(names), [])
        self.assertEqual(self.gives("[Out[1], In[2]]"), [10, "20"])
        self.gives("globals().clear()")
        self.assertEqual(self.gives(names), [])
        self.assertEqual(self.gives("_, __name__"), [[], "__main__"])

    def test_the_last_value_is_noted_although_its_name_was_deleted(self):
        self.gives("10")
        self.gives("del _")
        self.assertEqual(self.gives("_"), 10)
        self.gives("del _, __\n30")
        self.assertEqual(self.gives("[_, __]"), [30, 10])

    def test_names_that_the_program_has_set_stay_its_own(self):
        self.gives("display = In = _ = 'mine'\ndel Out")
        self.gives("1")
        self.assertEqual(self.gives("[display, In, _, Out[2]]"), ["mine", "mine", "mine", 1])
        self.gives("del display, _")
        self.assertEqual(self.gives("[callable(display), In, _]"), [True, "mine", ""])

    def test_the_sources_that_are_kept_are_bounded(self):
        self.addCleanup(setattr, cells, "SOURCES_MAX", cells.SOURCES_MAX)
        cells.SOURCES_MAX = 100
        self.gives("first = 1")
        for _ in range(5):
            self.gives(f"'{'x' * 40}'")
        self.assertEqual(self.gives("[len(In), In[1]]"), [8, ""])
        self.assertNotIn("<cell 1>", linecache.cache)

    def test_features_of_the_future_stay(self):
        self.gives("from __future__ import annotations")
        self.assertEqual(self.gives("def f(x: y): pass\nf.__annotations__"), {"x": "y"})

    def test_the_end_of_the_program_is_that_of_the_cell(self):
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        sys.stdin = io.StringIO()  # `exit` closes it
        for source in ["raise SystemExit", "import sys\nsys.exit(0)", "exit()"]:
            self.assertIsNone(self.gives(f"x = 7\n{source}\nx = 8"))
            self.assertEqual(self.gives("x"), 7)
        self.assertEqual(self.raises("sys.exit('no')")["message"], "no")
        self.assertEqual(self.raises("sys.exit(3)")["type"], "SystemExit")
        self.assertEqual(self.gives("x"), 7)

    def test_an_exit_leaves_standard_input_open(self):
        with mock.patch.object(sys, "stdin", io.StringIO("left")):
            for source in ("exit()", "quit()", "exit(0)"):
                self.assertEqual(self.gives(source), None)
            self.assertEqual(sys.stdin.read(), "left")
            self.run_code("exit()")
            self.assertTrue(sys.stdin.closed, "a run does what Python does")

    def test_cells_that_are_indented_as_a_whole_run(self):
        for source, value in [
            ("  x = 2\n  if x:\n      x = 3\n  x", 3),
            ("\n\n\tx = 1\n\tx", 1),
            ("    'a'\n", "a"),
            ("   \n", None),
        ]:
            with self.subTest(source):
                self.assertEqual(self.gives(source), value)
        self.assertEqual(self.raises("  x = 1\n y = 2")["type"], "IndentationError")

    def test_the_last_exception_is_kept_as_by_a_prompt(self):
        self.raises("def f():\n    local = 'kept'\n    1 / 0\nf()")
        source = (
            "import sys\ntrace = sys.last_exc.__traceback__\n"
            "while trace.tb_next: trace = trace.tb_next\n"
            "[type(sys.last_value).__name__, trace.tb_frame.f_locals['local'],"
            " sys.last_type is type(sys.last_exc), sys.last_traceback is sys.last_exc.__traceback__]"
        )
        self.assertEqual(self.gives(source), ["ZeroDivisionError", "kept", True, True])

    def test_objects_of_a_cell_are_not_kept_alive(self):
        self.gives("class Big: pass\nbig = Big()\ndef f(): return Big()")
        made = weakref.ref(cells._session.namespace["big"])
        self.gives("del big")
        self.assertIsNone(made())
        self.gives("import weakref\nref = None\n_x = f(); ref = weakref.ref(_x)\ndel _x")
        self.assertTrue(self.gives("ref() is None"))
        before = len(runner._kept)
        self.raises("1 / 0")
        self.assertEqual(len(runner._kept), before)

    def test_what_a_deep_stack_refers_to_lives_until_the_next_exception(self):
        self.gives(
            "import weakref\nclass Held: pass\nrefs = []\n"
            "def deep(n):\n    held = Held()\n    refs.append(weakref.ref(held))\n"
            "    return deep(n - 1) if n else 1 / 0\n"
        )
        self.raises("deep(300)")
        self.assertEqual(self.gives("sum(ref() is not None for ref in refs)"), 301)
        self.raises("1 / 0")
        self.assertEqual(self.gives("sum(ref() is not None for ref in refs)"), 0)
        self.gives("refs.clear()\nimport sys\nsys.last_exc = None")
        self.assertEqual(self.raises("2 / 0")["type"], "ZeroDivisionError")

    def test_a_very_deep_stack_can_be_freed(self):
        self.gives("import sys\nbefore = sys.getrecursionlimit()\nsys.setrecursionlimit(30_000)")
        self.gives("def deep(n):\n    return deep(n - 1) if n else 1 / 0\n")
        for _ in range(2):
            self.assertEqual(self.raises("deep(20_000)")["type"], "ZeroDivisionError")
        self.raises("1 / 0")
        self.gives("sys.setrecursionlimit(before)")

    def test_streams_of_the_program_stay_and_the_others_come_back(self):
        self.gives("import io, sys\nsys.stdout = mine = io.StringIO()\nprint('a')")
        self.gives("print('b')")
        self.assertEqual(self.printed, "")
        self.assertEqual(self.gives("sys.stdout = sys.__stdout__\nmine.getvalue()"), "a\nb\n")

    def test_a_skill_is_no_cell(self):
        skill = self.mount_skill("acme.a", {"code/main.py": "def main(args): return 1"})
        order = {"number": 1, "reseed": False}
        end, report = self.run_skill(skill, cell=order)
        self.assertEqual((end, report["type"]), ("raised", "EntrypointNotFound"))

    def test_strict_output_is_obeyed(self):
        self.assertEqual(self.gives("object"), "<class 'object'>")
        self.assertEqual(self.raises("object", strict_output=True)["type"], "TypeError")

    def test_threads_that_can_run_do_and_daemons_wait(self):
        self.gives(
            "import threading\nran = []\n"
            "threading.Thread(target=ran.append, args=(1,)).start()\n"
            "threading.Thread(target=ran.append, args=(2,), daemon=True).start()\n"
            "timer = threading.Timer(0.01, ran.append, (3,)); timer.start()"
        )
        self.assertEqual(self.gives("list(ran)"), [1])
        self.assertEqual(self.gives("timer.join()\nsorted(ran)"), [1, 2, 3])
        self.addCleanup(threads.forget)

    def test_a_failure_that_cannot_be_described_for_want_of_memory_leaves_room_again(self):
        from _wardian import failure

        self.raises("raise MemoryError")
        self.assertEqual(failure._reserve, [])
        self.gives("1")
        self.assertEqual(len(failure._reserve), 1)


class Interrupts(Sandbox):
    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))

    def test_an_interrupted_cell_keeps_what_came_before(self):
        source = "import signal\nx = 1\nsignal.raise_signal(signal.SIGINT)\nx = 2"
        self.assertEqual(self.raises(source)["type"], "KeyboardInterrupt")
        self.assertEqual(self.gives("x"), 1)

    def test_between_two_cells_nothing_is_interrupted(self):
        self.gives("x = 1")
        for _ in range(3):
            signals._plain(signal.SIGINT)
        self.assertEqual(self.gives("x"), 1)
        handler = "import signal\nsignal.getsignal(signal.SIGINT) is signal.default_int_handler"
        self.assertTrue(self.gives(handler))

    def test_an_interruption_while_the_end_is_reported_changes_nothing(self):
        source = (
            "from _wardian import signals\nclass Late(Exception):\n"
            "    def __str__(self):\n        signals._plain(2)\n        return 'said'\n"
            "raise Late"
        )
        self.assertEqual(self.raises(source)["message"], "said")
        self.assertEqual(self.gives("1 + 1"), 2)

    def test_a_handler_of_the_program_stays_for_later_cells(self):
        self.gives("import signal\nhits = []")
        self.gives("before = signal.signal(signal.SIGINT, lambda *call: hits.append(call[0]))")
        self.assertEqual(self.gives("signal.raise_signal(signal.SIGINT)\nhits"), [2])
        self.gives("signal.signal(signal.SIGINT, signal.SIG_IGN)")
        self.assertTrue(self.gives("signal.getsignal(signal.SIGINT) == signal.SIG_IGN"))
        from_host = "from _wardian import signals\nsignals._plain(2)\nlen(hits)"
        self.assertEqual(self.gives(from_host), 1)
        self.gives("signal.signal(signal.SIGINT, before);")
        self.assertEqual(self.raises("signals._plain(2)\n0")["type"], "KeyboardInterrupt")


class Tracebacks(Sandbox):
    def test_they_name_the_cell_and_show_its_lines(self):
        trace = self.raises("x = 0\n1 / x  # here")["traceback"]
        self.assertIn('File "<cell 1>", line 2, in <module>\n    1 / x  # here', trace)
        self.assertNotIn("<wardian>", trace)

    def test_functions_of_earlier_cells_have_theirs(self):
        self.gives("def divide(a, b):\n    return a / b  # of cell 1")
        trace = self.raises("divide(1, 0)  # of cell 2")["traceback"]
        self.assertIn('File "<cell 2>", line 1, in <module>\n    divide(1, 0)  # of cell 2', trace)
        self.assertIn('File "<cell 1>", line 2, in divide\n    return a / b  # of cell 1', trace)

    def test_lines_come_back_after_their_cache_was_cleared(self):
        self.gives("def divide(a, b):\n    return a / b  # of cell 1")
        linecache.clearcache()
        self.assertIn("# of cell 1", self.raises("divide(1, 0)")["traceback"])
        linecache.checkcache()
        self.assertIn("# of cell 1", self.raises("divide(1, 0)")["traceback"])

    def test_an_error_while_a_cell_waits_shows_where(self):
        library = (*trace._LIBRARY, os.path.dirname(os.__file__))
        folded = mock.patch.object(trace, "_LIBRARY", library)
        folded.start()
        self.addCleanup(folded.stop)
        self.gives("import asyncio\nasync def deep():\n    await asyncio.sleep(9)  # of cell 1")
        deep = 'File "<cell 1>", line 3, in deep\n    await asyncio.sleep(9)  # of cell 1'
        here = 'File "<cell {}>", line {}, in <module>\n    await {}\n'
        interrupt = (
            "import signal\nasyncio.get_running_loop().call_later(0.01, signal.raise_signal, 2)\n"
        )
        ways = {
            "deep()": deep,
            "asyncio.create_task(deep())": deep,
            "asyncio.gather(asyncio.sleep(0), deep())": deep,
            "asyncio.sleep(9)": "",
        }
        for number, (awaited, below) in enumerate(ways.items(), 2):
            with self.subTest(awaited):
                report = self.raises(f"{interrupt}await {awaited}")
                self.assertEqual(report["type"], "KeyboardInterrupt")
                self.assertIn(here.format(number, 3, awaited), report["traceback"])
                self.assertIn(below, report["traceback"])
                self.assertNotIn("selectors", report["traceback"])
        never = "await asyncio.get_running_loop().create_future()"
        report = self.raises(f"async def wait():\n    {never}\nawait wait()")
        self.assertIn("waits for ever", report["message"])
        self.assertIn(f"line 2, in wait\n    {never}\n", report["traceback"])
        self.assertIn("in <module>\n    await wait()\n", report["traceback"])
        report = self.raises("asyncio.run(wait())")
        self.assertIn("in <module>\n    asyncio.run(wait())\n", report["traceback"])
        self.assertIn(f"line 2, in wait\n    {never}\n", report["traceback"])

    def test_a_syntax_error_shows_its_line(self):
        report = self.raises("x = 1\nx +* 2")
        self.assertIn('File "<cell 1>", line 2\n    x +* 2', report["traceback"])

    def test_the_source_of_a_function_can_be_had(self):
        self.gives("def f():\n    return 1\n")
        self.assertEqual(self.gives("import inspect\ninspect.getsource(f)"), "def f():\n    return 1\n")


class Awaiting(Sandbox):
    def test_await_works_at_the_top(self):
        self.assertEqual(self.gives("import asyncio\nawait asyncio.sleep(0, 'done')"), "done")
        self.assertEqual(self.gives("x = await asyncio.sleep(0, 3)\nx + 1"), 4)
        source = "async def count():\n    yield 1\n    yield 2\n[n async for n in count()]"
        self.assertEqual(self.gives(source), [1, 2])
        self.assertIsNone(self.gives("async with asyncio.timeout(5):\n    y = 2"))
        self.assertEqual(self.gives("y"), 2)

    def test_tasks_go_on_in_the_next_cell(self):
        self.gives(
            "import asyncio\nseen = []\n"
            "async def work():\n"
            "    for n in range(3):\n"
            "        seen.append(n)\n"
            "        await asyncio.sleep(0.005)\n"
            "    return 'worked'\n"
            "task = asyncio.create_task(work())\n"
            "await asyncio.sleep(0)"
        )
        self.assertEqual(self.gives("seen, task.done()"), [[0], False])
        self.assertEqual(self.gives("await task"), "worked")
        self.assertEqual(self.gives("seen"), [0, 1, 2])

    def test_a_task_can_be_made_without_awaiting_and_begins(self):
        self.gives("import asyncio\nasync def f(): return 5\ntask = asyncio.create_task(f())")
        self.assertEqual(self.gives("task.done(), task.result()"), [True, 5])
        self.gives("later = asyncio.ensure_future(f())\nboth = asyncio.gather(f(), f())")
        self.assertEqual(self.gives("await later, await both"), [5, [5, 5]])

    def test_all_cells_have_one_loop(self):
        self.gives("import asyncio\nawait asyncio.sleep(0)\nloop = asyncio.get_running_loop()")
        self.assertTrue(self.gives("await asyncio.sleep(0)\nloop is asyncio.get_running_loop()"))
        self.assertTrue(self.gives("loop is asyncio.get_event_loop()"))

    def test_run_works_in_a_cell_that_does_not_await(self):
        source = "import asyncio\nasync def f(): return 4\n"
        self.assertEqual(self.gives(f"{source}asyncio.run(f())"), 4)
        self.assertEqual(self.gives("asyncio.get_event_loop().run_until_complete(f())"), 4)
        self.assertEqual(self.gives("await f()"), 4)

    def test_a_failed_cell_leaves_the_loop_and_its_tasks(self):
        self.gives(
            "import asyncio\nasync def later():\n    await asyncio.sleep(0.005)\n    return 1\n"
            "task = asyncio.create_task(later())"
        )
        self.assertEqual(self.raises("await asyncio.sleep(0)\n1 / 0")["type"], "ZeroDivisionError")
        waiting = self.raises("await asyncio.get_running_loop().create_future()")
        self.assertIn("wait", waiting["message"])
        self.assertEqual(self.gives("await task"), 1)
        self.assertIsNone(self.gives("await asyncio.sleep(0)\nraise SystemExit"))
        self.assertEqual(self.gives("await asyncio.sleep(0, 2)"), 2)

    def test_a_task_that_never_waits_does_not_keep_a_cell(self):
        self.gives(
            "import asyncio\nturns = [0]\nasync def spin():\n"
            "    while True:\n        turns[0] += 1\n        await asyncio.sleep(0)\n"
            "task = asyncio.create_task(spin())"
        )
        self.assertLessEqual(self.gives("turns[0]"), cells.PASSES_MAX + 1)
        self.gives("task.cancel()")

    def test_a_closed_loop_is_replaced(self):
        self.gives("import asyncio\nasyncio.get_event_loop().close()")
        self.assertEqual(self.gives("await asyncio.sleep(0, 2)"), 2)

    def test_context_variables_stay(self):
        self.gives("import asyncio, contextvars\nv = contextvars.ContextVar('v')\nv.set(1)")
        self.assertEqual(self.gives("await asyncio.sleep(0)\nv.set(v.get() + 1)\nv.get()"), 2)
        self.assertEqual(self.gives("v.get()"), 2)


class Connections(Sandbox):
    def test_connections_are_closed_at_the_end_of_a_cell(self):
        requests = []

        def answer(request: bytes) -> bytes:
            requests.append(request[0])
            return b"\0" + (7).to_bytes(4, "little")

        self.answer_network = answer
        self.gives("import socket\ns = socket.socket()")
        session = cells._session
        stream = sockets.streams[session.namespace["s"].fileno()]
        stream.handle = 7
        count = len(requests)
        self.gives("1")
        self.assertIsNone(stream.handle)
        self.assertEqual(len(requests), count + 1, "the host heard of it once")
        self.assertEqual(self.gives("s.recv(10).hex()"), "")
        self.assertIn(self.raises("s.send(b'x')")["type"], ("BrokenPipeError", "ConnectionResetError"))
        self.gives("s.close()")


class Reseeding(Sandbox):
    def test_the_state_goes_on_with_other_random_numbers(self):
        self.gives(
            "import random, tempfile, os\nrandom.gauss(0, 1)\n"
            "names = tempfile._get_candidate_names()"
        )
        state, names, pid = random.getstate(), tempfile._name_sequence, platform._PROCESS
        self.addCleanup(setattr, platform, "_PROCESS", pid)
        self.addCleanup(random.setstate, state)
        self.addCleanup(setattr, os, "getpid", os.getpid)
        self.gives("x = 1", seed=5)
        self.assertEqual((random.getstate(), self.reseeded), (state, 0), "nothing was ordered")
        self.gives("x", seed=5, reseed=True)
        self.assertEqual(self.reseeded, 1)
        expected = random.Random(5)
        self.assertEqual(random.random(), expected.random())
        self.assertEqual(random.gauss(0, 1), expected.gauss(0, 1))
        self.assertIsNot(tempfile._name_sequence, names)
        self.assertNotEqual(self.gives("os.getpid()"), pid)
        self.assertIsNone(platform._kill(os.getpid(), 0))

    def test_siblings_have_different_processes(self):
        pid = platform._PROCESS
        self.addCleanup(setattr, platform, "_PROCESS", pid)
        self.addCleanup(setattr, os, "getpid", os.getpid)
        numbers = set()
        for seed in (0, 1, 2, 3, 1 << 32, 1 << 63, (1 << 64) - 1):
            platform._PROCESS = pid
            platform.change_process(seed)
            numbers.add(os.getpid())
            self.assertTrue(1 < os.getpid() < 1 << 22)
        self.assertEqual(len(numbers - {pid}), 7)
        before = os.getpid()
        platform.change_process((1 << 64) - 1)
        self.assertNotEqual(os.getpid(), before, "the same seed once more")

    def test_functions_that_were_registered_for_a_fork_run(self):
        self.addCleanup(setattr, os, "getpid", os.getpid)
        register = os.register_at_fork
        self.addCleanup(setattr, os, "register_at_fork", register)
        forks.install()
        self.addCleanup(forks.forget)
        self.gives(
            "import os\nran = []\n"
            "os.register_at_fork(before=lambda: ran.append('before'))\n"
            "os.register_at_fork(after_in_child=lambda: 1 / 0, after_in_parent=lambda: 2)\n"
            "os.register_at_fork(after_in_child=lambda: ran.append('child'))"
        )
        self.assertEqual(self.gives("ran"), [])
        self.assertEqual(self.gives("ran", reseed=True), ["child"])
        self.assertIn("ZeroDivisionError", self.complained)
        self.assertEqual(self.raises("os.register_at_fork()")["type"], "TypeError")
        self.assertEqual(self.raises("os.register_at_fork(before=3)")["type"], "TypeError")


class PlainRuns(Sandbox):
    def test_a_run_knows_nothing_of_cells(self):
        self.assertEqual(
            self.returns("[name in globals() for name in ('In', 'Out', '_', 'get_ipython')]"),
            [False] * 4,
        )
        self.assertNotIn(notebook._finder, sys.meta_path)
        self.assertIn("in a notebook", self.fails("%time 1")["message"])
        self.assertIn("display", self.fails("display(1)")["message"])
        self.assertIsNone(cells._session)

    def test_the_module_of_a_session_survives_a_run(self):
        self.gives("x = 1")
        self.returns("x = 2\nx")
        self.assertEqual(self.gives("x"), 1)
        self.assertIs(sys.modules["__main__"], cells._session.module)
