"""The commands of notebooks: found only where statements begin, and named when they make no sense."""

from __future__ import annotations

import asyncio
import unittest

from _wardian import magics
from tests.support import Sandbox


class Finding(unittest.TestCase):
    def test_a_statement_that_begins_as_a_magic_becomes_a_call_on_its_line(self):
        for source, python in [
            ("%matplotlib inline", "get_ipython().run_line_magic('matplotlib', 'inline')"),
            ("x = 1\n%time f(x)\ny", "x = 1\nget_ipython().run_line_magic('time', 'f(x)')\ny"),
            (
                "if x:\n    %timeit -n 3 x",
                "if x:\n    get_ipython().run_line_magic('timeit', '-n 3 x')",
            ),
            ("!ls -l", "get_ipython().system('ls -l')"),
            ("!!ls", "get_ipython().system('ls')"),
            ("files = !ls", "files = get_ipython().getoutput('ls')"),
            ("a = %time f()", "a = get_ipython().run_line_magic('time', 'f()')"),
            ("%time await f()", "await get_ipython().time_awaited('await f()')"),
            (
                "%pip install \\\n  a b\nx",
                "get_ipython().run_line_magic('pip', 'install \\n  a b')\n\nx",
            ),
            ("x?", "get_ipython().help('x')"),
            ("?x.y", "get_ipython().help('x.y')"),
            ("x.y??", "get_ipython().help('x.y')"),
            ("\n\n%%bash\nls\n", "\n\nget_ipython().run_cell_magic('bash', '', 'ls\\n')"),
            ("%%timeit x = 1\nx", "get_ipython().run_cell_magic('timeit', 'x = 1', 'x')"),
            ("!echo 'unclosed\nx", "get_ipython().system(\"echo 'unclosed\")\nx"),
            ("f'{a[\"b\"]}'\n%time x", "f'{a[\"b\"]}'\nget_ipython().run_line_magic('time', 'x')"),
            ("# %time\n\n%time x", "# %time\n\nget_ipython().run_line_magic('time', 'x')"),
        ]:
            with self.subTest(source):
                self.assertEqual(magics.translated(source), (python, False))

    def test_other_places_are_none(self):
        for source in [
            "x = '''\n%time f()\n!ls\n'''\ny = )",
            "x = (1\n%time\n) )",
            "x = [\n!ls\n]",
            "x = 1 \\\n%time\n)",
            "f(a\n    %b)\n)",
            "def f(:\n    pass",
            "x = 5 %",
            "%",
            "!",
            "a %= b c",
        ]:
            with self.subTest(source):
                self.assertIsNone(magics.translated(source))

    def test_what_is_python_is_never_looked_at(self):
        # `cells` compiles first: this text would have a magic in its second line otherwise.
        compile("x = 9\ny = (x\n%4)", "", "exec")

    def test_a_timed_cell_keeps_its_lines(self):
        self.assertEqual(magics.translated("%%time\nx = 1\nx"), ("\nx = 1\nx", True))
        both = magics.translated("\n%%time\n%matplotlib inline\nx")
        self.assertEqual(both, ("\n\nget_ipython().run_line_magic('matplotlib', 'inline')\nx", True))
        self.assertRaises(magics.UsageError, magics.translated, "%%time x\ny")

    def test_long_texts_take_a_time_in_proportion(self):
        text = "x = '''\n" + "%time\n" * 50_000 + "'''\n%time x\n"
        translated = magics.translated(text)
        self.assertEqual(translated.source.count("get_ipython"), 1)

    def test_times_have_three_digits_and_a_unit(self):
        for seconds, shown in [
            (0, "0 ns"), (1.234e-9, "1.23 ns"), (5e-6, "5 μs"), (0.0123, "12.3 ms"), (2, "2 s"),
            (61, "1min 1s"), (90061, "1d 1h 1min 1s"),
        ]:  # fmt: skip
            self.assertEqual(magics.shown_time(seconds), shown)


class Running(Sandbox):
    def test_matplotlib_is_accepted(self):
        source = "%matplotlib inline\n%config InlineBackend.figure_format = 'svg'\n1"
        self.assertEqual(self.gives(source), 1)
        self.assertIn("InlineBackend", self.raises("%config Other.a = 1")["message"])

    def test_time_prints_times_and_gives_the_value(self):
        self.assertEqual(self.gives("x = 4\n%time x * 2"), 8)
        self.assertRegex(self.printed, r"^CPU times: total: .+\nWall time: .+\n$")
        self.assertIsNone(self.gives("%time y = x + 1"))
        self.assertEqual(self.gives("y"), 5)
        self.assertEqual(self.gives("z = %time x + 3\nz"), 7)
        self.gives("def f(a):\n    b = %time a + 1\n    return b\n")
        self.assertEqual(self.gives("f(2)"), 3)

    def test_time_awaits(self):
        self.assertEqual(self.gives("import asyncio\n%time await asyncio.sleep(0, 3)"), 3)
        self.assertIsNone(self.gives("%time x = await asyncio.sleep(0, 4)"))
        self.assertEqual(self.gives("x"), 4)
        self.assertRegex(self.printed, "^$")

    def test_a_timed_cell_is_a_cell(self):
        self.assertEqual(self.gives("%%time\nx = 2\nx + 1"), 3)
        self.assertIn("Wall time", self.printed)
        self.assertEqual(self.gives("x"), 2)
        self.assertEqual(self.gives("%%time\nimport asyncio\nawait asyncio.sleep(0, 5)"), 5)
        self.assertIn("Wall time", self.printed)
        self.raises("%%time\n1 / 0")
        self.assertIn("Wall time", self.printed)

    def test_timeit_repeats(self):
        self.gives("n = []\n%timeit -n 3 -r 2 n.append(1)")
        self.assertEqual(self.gives("len(n)"), 6)
        self.gives("%timeit -n 1 -r 1 -q 1")
        self.assertEqual(self.printed, "")
        self.gives("r = %timeit -o -q -n2 -r2 1\nr.repeat, r.loops")
        self.assertEqual(self.gives("r.repeat, r.loops, len(r.all_runs)"), [2, 2, 2])
        self.gives("%%timeit -n 2 -r 3 m = []\nm.append(1)\nn.append(2)")
        self.assertEqual(self.gives("n.count(2)"), 6)
        self.assertRegex(str(magics.TimeitResult(10, [1e-3, 3e-3], 3)),
                         r"^2 ms ± 1 ms per loop \(mean ± std\. dev\. of 2 runs, 10 loops each\)$")
        for wrong in ("%timeit", "%timeit -n 0 -r 0 1", "%timeit -z 1"):
            self.assertEqual(self.raises(wrong)["type"], "UsageError", wrong)

    def test_tracebacks_show_the_line_as_it_was_written(self):
        trace = self.raises("x = 0\n  \n%time 1 / x")["traceback"]
        self.assertIn('File "<cell 1>", line 3, in <module>\n    %time 1 / x\n', trace)
        self.assertNotIn("get_ipython", trace)

    def test_what_makes_no_sense_says_what_to_write(self):
        for source, words in [
            ("!ls", "os.listdir"),
            ("!wget https://a.example", "urllib.request"),
            ("!nonsense", "no other program can run"),
            ("x = !cat a", "open(name).read()"),
            ("%cd /tmp", "os.chdir"),
            ("%%bash\nls", "no shell"),
            ("%%writefile a.py\nx", "write_text"),
            ("%pip install torch", "nothing can be installed"),
            ("!pip install -q torch", "nothing can be installed"),
            ("!python -m pip install torch", "nothing can be installed"),
            ("!apt-get install x", "nothing can be installed"),
            ("%load_ext autoreload", "cannot be loaded"),
            ("%nonsense 1", "there is no magic `%nonsense`; there are %matplotlib"),
            ("%%nonsense\n1", "there is no magic `%%nonsense`"),
            ("len?", "help(len)"),
        ]:
            with self.subTest(source):
                report = self.raises(source)
                self.assertEqual(report["type"], "UsageError")
                self.assertIn(words, report["message"])

    def test_a_magic_that_is_not_reached_refuses_nothing(self):
        self.assertEqual(self.gives("if False:\n    !pip install x\n1"), 1)
        self.assertEqual(self.raises("y = 1\n!ls")["type"], "UsageError")
        self.assertEqual(self.gives("y"), 1)

    def test_exported_notebooks_run(self):
        source = (
            "get_ipython().run_line_magic('matplotlib', 'inline')\n"
            "get_ipython().magic('matplotlib inline')\n"
            "get_ipython().run_line_magic('time', '1 + 1')"
        )
        self.assertEqual(self.gives(source), 2)
        self.assertEqual(self.raises("get_ipython().system('ls')")["type"], "UsageError")

    def test_names_that_are_awaited_are_no_words_within_words(self):
        self.assertEqual(self.gives("awaited = 3\n%time awaited"), 3)
        self.assertTrue(asyncio.iscoroutinefunction(magics._awaited))
