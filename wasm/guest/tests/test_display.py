"""What cells show beside their log: objects in rich forms, figures, and the names of IPython."""

from __future__ import annotations

import base64
import json
import sys
import types
from pathlib import Path

from _wardian import advice, display, figures, notebook
from tests.support import Refusal, Sandbox

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)

RICH = """
class Rich:
    def __repr__(self): return 'Rich()'
    def _repr_html_(self): return '<b>rich</b>'
    def _repr_png_(self): return b'png', {'width': 3}
    def _repr_svg_(self): return None
    def _repr_latex_(self): raise NotImplementedError
    def _repr_json_(self): return {'a': [1, None]}
rich = Rich()
"""


class Forms(Sandbox):
    def test_an_object_has_all_forms_of_its_methods(self):
        self.gives(f"{RICH}display(rich, 'text')")
        first, second = self.displayed
        self.assertEqual(
            first,
            {
                "text/plain": "Rich()",
                "text/html": "<b>rich</b>",
                "image/png": b"png",
                "application/json": '{"a": [1, null]}',
            },
        )
        self.assertEqual(second, {"text/plain": "'text'"})

    def test_an_object_has_one_picture(self):
        self.gives(
            "class P:\n    def _repr_png_(self): return b'p'\n"
            "    def _repr_jpeg_(self): return b'j'\ndisplay(P())"
        )
        self.assertEqual(list(self.displayed[0]), ["text/plain", "image/png"])

    def test_forms_can_be_chosen_and_given(self):
        self.gives(f"{RICH}display(rich, include=['text/html'])")
        self.assertEqual(self.displayed, [{"text/html": "<b>rich</b>"}])
        self.gives("display(rich, exclude={'text/plain', 'image/png', 'application/json'})")
        self.assertEqual(self.displayed, [{"text/html": "<b>rich</b>"}])
        bundle = {"text/plain": "p", "application/vnd.x+json": {"b": 1}, "image/png": "cG5n\n"}
        self.gives(f"display({bundle!r}, raw=True)")
        expected = {"text/plain": "p", "application/vnd.x+json": '{"b": 1}', "image/png": b"png"}
        self.assertEqual(self.displayed, [expected])

    def test_a_bundle_comes_before_single_forms(self):
        self.gives(
            "class B:\n"
            "    def _repr_mimebundle_(self, include=None, exclude=None):\n"
            "        return {'text/plain': 'mine', 'text/html': '<i>'}, {}\n"
            "    def _repr_html_(self): return 'other'\n"
            "display(B())"
        )
        self.assertEqual(self.displayed, [{"text/plain": "mine", "text/html": "<i>"}])

    def test_an_object_may_display_itself(self):
        self.gives("class S:\n    def _ipython_display_(self): display('by itself')\ndisplay(S())")
        self.assertEqual(self.displayed, [{"text/plain": "'by itself'"}])

    def test_a_method_that_fails_costs_its_form_alone(self):
        self.gives(
            "class F:\n"
            "    def __repr__(self): raise ValueError('r')\n"
            "    def _repr_html_(self): raise KeyError('h')\n"
            "    def _repr_svg_(self): return '<svg/>'\n"
            "display(F())"
        )
        [shown] = self.displayed
        self.assertEqual(shown["image/svg+xml"], "<svg/>")
        self.assertIn("repr failed", shown["text/plain"])
        self.assertIn("_repr_html_ failed: KeyError", self.complained)

    def test_classes_and_objects_with_every_attribute_have_no_rich_forms(self):
        self.gives(f"{RICH}from unittest.mock import MagicMock\ndisplay(Rich, MagicMock())")
        self.assertEqual([list(shown) for shown in self.displayed], [["text/plain"]] * 2)

    def test_kinds_that_are_none_are_left_out(self):
        bundle = {"text/plain": "p", "no kind": "x", 3: "y", "text/html": None, "A/B": b"1"}
        self.gives(f"display({bundle!r}, raw=True)")
        self.assertEqual(self.displayed, [{"text/plain": "p", "a/b": b"1"}])
        self.gives("display({'no kind': 'x'}, raw=True)")
        self.assertEqual(self.displayed, [])

    def test_texts_without_an_encoding_are_replaced(self):
        self.gives("display({'text/plain': 'a\\ud800b', 'text/html': b'\\xff'}, raw=True)")
        self.assertEqual(self.displayed, [{"text/plain": "a\ufffdb", "text/html": "\ufffd"}])


class Values(Sandbox):
    def test_a_last_value_with_a_rich_form_is_displayed_and_returned(self):
        self.assertEqual(self.gives(f"{RICH}rich"), "Rich()")
        self.assertEqual([set(shown) for shown in self.displayed],
                         [{"text/plain", "text/html", "image/png", "application/json"}])
        for source in ["1", "'a'", "[rich]", "Rich", "None", "rich;", "object()"]:
            self.gives(source)
            self.assertEqual(self.displayed, [], source)

    def test_a_value_is_marked_and_displayed_as_text_if_the_host_wants_it(self):
        for number, (source, expected) in enumerate(
            {
                "[1, 'a']": [{display.VALUE: "{}", "text/plain": "[1, 'a']"}],
                f"{RICH}display(1)\nrich._repr_png_ = rich._repr_json_ = None\nrich": [
                    {"text/plain": "1"},
                    {display.VALUE: "{}", "text/plain": "Rich()", "text/html": "<b>rich</b>"},
                ],
                "None": [],
                "5;": [],
            }.items(),
            1,
        ):
            self.displayed = []
            end, _ = self.run_code(
                source, cell={"number": number, "reseed": False, "shows_value": True}
            )
            self.assertEqual((end, self.displayed), ("returned", expected), source)

    def test_a_value_that_cannot_be_displayed_is_returned_all_the_same(self):
        source = (
            "class S:\n"
            "    def _ipython_display_(self): 1 / 0\n"
            "    def __repr__(self): return 'S'\n"
            "S()"
        )
        self.assertEqual(self.gives(source), "S")
        self.assertIn("could not be displayed", self.complained)
        self.refusals[14] = Refusal("QuotaExceeded")
        self.assertEqual(self.gives(f"{RICH}rich"), "Rich()")
        self.assertIn("QuotaExceeded", self.complained)


class Bounds(Sandbox):
    def test_a_cell_displays_so_many_objects_and_says_what_it_leaves_out(self):
        self.gives(f"for n in range({display.BUNDLES_MAX + 50}): display(n)")
        self.assertEqual(len(self.displayed), display.BUNDLES_MAX)
        self.assertEqual(self.complained.count("left out"), 1)
        self.gives("display(1)")
        self.assertEqual(len(self.displayed), 1)

    def test_a_bundle_has_so_many_parts(self):
        bundle = {f"text/x-{n}": "" for n in range(display.PARTS_MAX + 4)}
        self.gives(f"display({bundle!r}, raw=True)")
        self.assertEqual(len(self.displayed[0]), display.PARTS_MAX)

    def test_a_refusal_of_the_host_is_an_exception(self):
        self.refusals[14] = Refusal("HostCallLimit", "no more")
        self.assertEqual(self.raises("display(1)")["type"], "HostCallLimit")
        self.gives("display(1)")
        self.assertEqual(len(self.displayed), 1)


class Updates(Sandbox):
    def test_what_a_cell_has_displayed_can_be_replaced(self):
        self.gives(
            "handle = display('a', display_id=True)\nother = display('b', display_id='mine')\n"
            "handle.update('A')\nother.update('B')"
        )
        self.assertEqual(self.displayed, [{"text/plain": "'A'"}, {"text/plain": "'B'"}])
        report = self.raises("handle.update('later')")
        self.assertEqual(report["type"], "DisplayNotFound")
        self.assertIn("stays as it is", report["message"])

    def test_what_a_cell_has_displayed_can_be_cleared(self):
        self.gives("from _wardian.display import clear_output\ndisplay(1)\nclear_output()\ndisplay(2)")
        self.assertEqual(self.displayed, [{"text/plain": "2"}])
        self.gives("display(1)\nclear_output(wait=True)\nclear_output(wait=True)")
        self.assertEqual(self.displayed, [{"text/plain": "1"}])
        self.gives("display(1)\nclear_output(wait=True)\ndisplay(2)\ndisplay(3)")
        self.assertEqual(self.displayed, [{"text/plain": "2"}, {"text/plain": "3"}])


class Figure:
    """As much of a figure of matplotlib as is looked at."""

    def __init__(self):
        self.texts = self.patches = self.images = self.legends = self.axes = ()
        self.lines, self.stale, self.saved = [1], True, 0

    def savefig(self, file, format, bbox_inches):
        self.saved += 1
        file.write(b"figure %d" % self.saved)

    def __repr__(self):
        return "<Figure>"


class Figures(Sandbox):
    def setUp(self):
        super().setUp()
        self.open = {}
        pyplot = types.ModuleType("matplotlib.pyplot")
        pyplot.get_fignums = lambda: list(self.open)
        pyplot.figure = self.open.__getitem__
        pyplot.close = lambda which: self.open.clear()
        module = types.ModuleType("matplotlib.figure")
        module.Figure = Figure
        for fake in (pyplot, module):
            before = sys.modules.get(fake.__name__)
            sys.modules[fake.__name__] = fake
            if before is None:
                self.addCleanup(sys.modules.pop, fake.__name__)
            else:
                self.addCleanup(sys.modules.__setitem__, fake.__name__, before)
        pyplot.new = lambda number: self.open.setdefault(number, Figure())

    PLOT = "import sys\nplt = sys.modules['matplotlib.pyplot']\n"

    def test_open_figures_are_shown_and_closed(self):
        self.gives(f"{self.PLOT}plt.new(1); plt.new(2)\nempty = plt.new(3); empty.lines = []\n1")
        self.assertEqual(self.displayed, [{"text/plain": "<Figure>", "image/png": b"figure 1"}] * 2)
        self.assertEqual(self.open, {})
        self.assertEqual(list(Path().iterdir()), [], "no file was made")
        self.gives("2")
        self.assertEqual(self.displayed, [])

    def test_a_failed_cell_shows_them_too(self):
        self.raises(f"{self.PLOT}plt.new(1)\n1 / 0")
        self.assertEqual(len(self.displayed), 1)
        self.assertEqual(self.open, {})

    def test_a_figure_is_shown_once_unless_it_changes(self):
        self.gives(f"{self.PLOT}f = plt.new(1)\ndisplay(f)\nf")
        self.assertEqual(len(self.displayed), 1)
        self.gives("f = plt.new(1)\ndisplay(f)\nf.stale = True")
        self.assertEqual([shown["image/png"] for shown in self.displayed], [b"figure 1", b"figure 2"])

    def test_show_shows(self):
        self.gives("1")
        self.open[1] = Figure()
        figures._show_all(None)
        self.assertEqual([shown["image/png"] for shown in self.displayed], [b"figure 1"])
        self.assertEqual(self.open, {})

    def test_a_figure_that_cannot_be_drawn_is_told_of(self):
        self.gives(f"{self.PLOT}f = plt.new(1)\nf.savefig = None\n1")
        self.assertIn("could not be displayed", self.complained)
        self.assertEqual(self.displayed, [])

    def test_a_run_saves_its_figures_as_before(self):
        self.assertIsNone(figures._show)
        self.gives("1")
        self.assertIsNotNone(figures._show)
        figures.forget()
        self.assertIsNone(figures._show)


class Notebook(Sandbox):
    """The names of IPython, whether or not this machine has it."""

    def setUp(self):
        super().setUp()
        real = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("IPython")}
        self.addCleanup(sys.modules.update, real)
        self.addCleanup(notebook.remove)
        sys.meta_path.insert(0, notebook._finder)

    def test_its_objects_are_displayed(self):
        self.gives(
            "from IPython.display import display, HTML, Markdown, Image, SVG, JSON\n"
            "from IPython.display import Latex, Math, Pretty\n"
            f"display(HTML('<b>'), Markdown('# a'), SVG('<svg/>'), JSON({{'a': 1}}), JSON('[1]'),"
            f" Latex('$a$'), Math('a'), Pretty('p'), Image({PNG!r}))"
        )
        rich = [{kind: form for kind, form in shown.items() if kind != "text/plain"}
                for shown in self.displayed]
        self.assertEqual(
            rich,
            [
                {"text/html": "<b>"},
                {"text/markdown": "# a"},
                {"image/svg+xml": "<svg/>"},
                {"application/json": '{"a": 1}'},
                {"application/json": "[1]"},
                {"text/latex": "$a$"},
                {"text/latex": "$\\displaystyle a$"},
                {},
                {"image/png": PNG},
            ],
        )
        self.assertEqual(self.displayed[7], {"text/plain": "p"})
        self.assertEqual(self.displayed[0]["text/plain"], "<IPython.core.display.HTML object>")

    def test_a_last_object_is_displayed(self):
        self.gives("from IPython.display import HTML\nHTML('<b>')")
        self.assertEqual(self.displayed[0]["text/html"], "<b>")

    def test_pictures_have_their_kinds(self):
        from _wardian.notebook import Image

        Path("a.png").write_bytes(PNG)
        Path("a.svg").write_text("<svg/>")
        self.assertEqual(Image("a.png")._repr_mimebundle_(), {"image/png": PNG})
        self.assertEqual(Image(filename="a.png").format, "png")
        self.assertEqual(Image(Path("a.png")).data, PNG)
        for data, kind in [
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF1234WEBP", "image/webp"),
            (b"%PDF-1.5", "application/pdf"),
            (b"other", "image/png"),
        ]:
            self.assertEqual(list(Image(data)._repr_mimebundle_()), [kind])
        self.assertEqual(notebook.SVG("a.svg")._repr_svg_(), "<svg/>")
        at = Image("https://a.example/?a=1&b=\"", width=3)._repr_mimebundle_()["text/html"]
        self.assertEqual(at, '<img src="https://a.example/?a=1&amp;b=&quot;" width="3"/>')
        for wrong in ("missing.png", None):
            self.assertRaises((TypeError, ValueError), Image, wrong)
        self.assertRaises(TypeError, notebook.HTML, 3)
        self.assertRaises(ValueError, notebook.HTML, url="https://a.example")
        self.assertIn('src="https://a.example?x=1"',
                      notebook.IFrame("https://a.example", 1, 2, x=1)._repr_html_())

    def test_every_way_to_import_it_works(self):
        self.gives(
            "import IPython, IPython.display\nfrom IPython import get_ipython as g, display as module\n"
            "from IPython.core.display import HTML\n"
            "from IPython.core.display_functions import display as d\n"
            "module.clear_output(); module.display_html('<b>', raw=True)"
        )
        self.assertEqual(self.displayed[0]["text/html"], "<b>")
        source = "[g(), d is display, IPython.version_info[0] > 5]"
        self.assertEqual(self.gives(source), [None, True, True])
        self.assertEqual(self.gives("type(get_ipython()).__name__"), "Shell")

    def test_progress_in_place_works(self):
        self.gives(
            "from IPython.display import clear_output, update_display, display\n"
            "display('0 %', display_id='p')\n"
            "for n in (50, 100): update_display(f'{n} %', display_id='p')"
        )
        self.assertEqual(self.displayed, [{"text/plain": "'100 %'"}])

    def test_another_ipython_has_precedence(self):
        notebook.remove()
        other = types.SimpleNamespace(find_spec=lambda *_: None)  # as that of `six`
        sys.meta_path.append(other)
        self.addCleanup(sys.meta_path.remove, other)
        notebook.install()
        self.assertIs(sys.meta_path[-3], notebook._finder)
        self.assertIsInstance(sys.meta_path[-2], advice.MissingPackages)
        notebook.install()
        self.assertEqual(sys.meta_path.count(notebook._finder), 1)


class Json(Sandbox):
    def test_json_with_values_that_are_none_is_text(self):
        self.gives("display({'application/json': {'a': object}}, raw=True)")
        shown = self.displayed[0]["application/json"]
        self.assertEqual(json.loads(shown), {"a": "<class 'object'>"})
