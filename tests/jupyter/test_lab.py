"""The kernel in JupyterLab, in a real browser: what a user does with a notebook.

`scripts/check-jupyter` runs these tests, and skips them where there is no browser.
"""

import base64
import json
import struct
import time
import unittest

from browser import Browser, wait
from lab import Lab
from servers import Wardian

HARVEST = [
    "# Harvest\n\nThe cells of this notebook run in a session of a server, in a sandbox.",
    "import pandas as pd\n"
    "crates = pd.DataFrame({'apples': [31, 44, 52], 'pears': [18, 27, 23]},\n"
    "                      index=['Aug', 'Sep', 'Oct'])\n"
    "crates",
    "import matplotlib.pyplot as plt\n"
    "crates.plot.bar(figsize=(5, 2.1), rot=0, ylabel='crates')\n"
    "plt.tight_layout()",
    "month = input('Which month? ')\n"
    "print(month, 'had', crates.loc[month].sum(), 'crates.')",
]

# What a cell shows: its number, and the texts of its outputs.
CELLS = """
return [...document.querySelectorAll('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-CodeCell')].map((cell) => ({
  prompt: cell.querySelector('.jp-InputPrompt').innerText.trim(),
  text: [...cell.querySelectorAll('.jp-OutputArea-output')].map((output) => output.innerText).join('\\n'),
}));
"""


class InLab(unittest.TestCase):
    """A server, JupyterLab and a browser for all tests; each has a notebook of its own."""

    programs = None
    picture = None

    @classmethod
    def setUpClass(cls):
        cls.server = Wardian()
        cls.addClassCleanup(cls.server.close)
        cls.lab = Lab(cls.programs, cls.server)
        cls.addClassCleanup(cls.lab.close)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.browser.resize(1200, 860)

    def show(self, cells, name=None):
        """Opens a new notebook, and waits for its kernel."""
        self.notebook = name or f"{self._testMethodName.removeprefix('test_')}.ipynb"
        self.lab.write(self.notebook, cells)
        self.open()

    def open(self):
        """Opens the notebook in the page."""
        self.browser.open("about:blank")
        self.browser.open(f"{self.lab.url}/lab/tree/{self.notebook}?reset&token={self.lab.token}")
        self.browser.find(".jp-Notebook .jp-CodeCell .cm-content")
        self.wait_idle()
        self.focus(0)

    def source(self, place):
        return self.browser.run("return document.querySelectorAll('.jp-CodeCell .cm-content')[arguments[0]].innerText", place)

    def sessions(self):
        """The ids of all sessions of the server."""
        return {one["id"] for one in json.loads(self.server.send("GET", "/v1/sessions"))["sessions"]}

    def wait_idle(self):
        name = "return document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-KernelName')?.innerText"
        wait(lambda: self.browser.run(name) == "Python (Wardian)", "the name of the kernel")
        def look():
            kernels = [one["kernel"] for one in self.lab.ask("/api/sessions") if one["path"] == self.notebook]
            return any(kernel["execution_state"] == "idle" and kernel["connections"] for kernel in kernels)
        wait(look, "an idle kernel", 120)

    def focus(self, place):
        """Puts the cursor into a cell with code."""
        self.browser.run("document.querySelectorAll('.jp-CodeCell .cm-content')[arguments[0]].focus()", place)
        wait(lambda: self.browser.run("return document.activeElement.classList.contains('cm-content')"), "the cursor in a cell")

    def execute(self, count=1):
        """Executes cells, one after another, with the keyboard. The last one keeps the focus."""
        for _ in range(count - 1):
            self.browser.press("Shift", "Enter")
        self.browser.press("Control", "Enter")

    def interrupt(self):
        """Presses the button that interrupts the kernel."""
        self.browser.click("[data-command='notebook:interrupt-kernel'], [data-jp-item-name='interrupt'] button, [data-jp-item-name='interrupt']")

    def cells(self):
        return self.browser.run(CELLS)

    def wait_cell(self, place, text, prompt=None):
        """Waits until a cell shows a text, and has ended if it has to have a number."""
        def look():
            cell = self.cells()[place]
            return text in cell["text"] and prompt in (None, cell["prompt"])
        try:
            wait(look, f"{text!r} of cell {place + 1}")
        except Exception as fault:
            raise AssertionError(f"{fault}: {self.cells()}\n{self.lab.log.read_text()[-3000:]}") from None

    def save(self):
        """Saves the notebook with the keyboard. Returns its cells with code."""
        file = self.lab.notebooks / self.notebook
        before = file.stat().st_mtime_ns
        # What had the focus may be gone: the answer to a question, for example.
        self.focus(0)
        self.browser.press("Control", "s")
        try:
            wait(lambda: file.stat().st_mtime_ns != before, "a saved notebook")
        except Exception as fault:
            raise AssertionError(f"{fault}: {self.browser.focused()}: {self.browser.text()[-1500:]}") from None
        return self.lab.read(self.notebook)


class Notebooks(InLab):
    def test_a_table_a_plot_and_a_question(self):
        self.show(HARVEST, "harvest.ipynb")
        self.execute(3)
        self.browser.fill(".jp-Stdin-input", "Sep")
        self.browser.type(".jp-Stdin-input", "\ue007")
        self.wait_cell(2, "Sep had 71 crates.", "[3]:")
        table = "return [...document.querySelectorAll('.jp-OutputArea table.dataframe tr')].map((row) => [...row.cells].map((cell) => cell.innerText).join(' ').trim())"
        self.assertEqual(self.browser.run(table), ["apples pears", "Aug 31 18", "Sep 44 27", "Oct 52 23"])
        width = self.browser.run("return document.querySelector('.jp-RenderedImage img').naturalWidth")
        self.assertEqual([cell["prompt"] for cell in self.cells()], ["[1]:", "[2]:", "[3]:"])
        self.assertIn("Which month?  Sep", self.cells()[2]["text"])
        if self.picture:
            self.take_picture()
        shown, drawn, asked = self.save()
        self.assertEqual([output["output_type"] for output in shown["outputs"]], ["execute_result"])
        png = base64.b64decode(drawn["outputs"][-1]["data"]["image/png"])
        self.assertEqual(struct.unpack(">I", png[16:20]), (width,))
        self.assertGreater(width, 400)
        self.assertIn("Sep had 71 crates.\n", "".join("".join(output["text"]) for output in asked["outputs"]))

    def test_output_appears_while_a_cell_runs_and_an_interrupt_keeps_its_state(self):
        self.show(["import time\nturns = 0\nprint('begun')\nwhile True:\n    turns += 1\n    time.sleep(0.01)", "turns > 0"])
        self.execute()
        self.wait_cell(0, "begun", "[*]:")
        self.interrupt()
        self.wait_cell(0, "KeyboardInterrupt", "[1]:")
        self.focus(1)
        self.execute()
        self.wait_cell(1, "True", "[2]:")

    def test_names_are_completed_and_explained(self):
        self.show(["def water_the_ferns(litres: int = 3):\n    'Waters them.'\n    return litres\nclass Bed: pass\nbed = Bed()\nbed.moisture_of_soil = 7", ""])
        self.execute()
        self.wait_cell(0, "", "[1]:")
        self.focus(1)
        self.browser.type(".jp-mod-active .cm-content", "bed.mois")
        self.browser.press("Tab")
        self.browser.wait_text("moisture_of_soil", ".jp-Completer")
        self.browser.press("Enter")
        wait(lambda: "bed.moisture_of_soil" in self.source(1), "the only completion")
        self.browser.type(".jp-mod-active .cm-content", "\ue007water_the_ferns(")
        self.browser.press("Shift", "Tab")
        self.browser.wait_text("litres: int = 3", ".jp-Tooltip")
        self.browser.wait_text("Waters them.", ".jp-Tooltip")

    def test_a_line_that_is_not_shown(self):
        self.show(["import getpass\nword = getpass.getpass('Word? ')\nlen(word)"])
        self.execute()
        self.browser.find(".jp-Stdin-input[type=password]")
        self.browser.type(".jp-Stdin-input", "orchid\ue007")
        self.wait_cell(0, "6", "[1]:")
        self.assertNotIn("orchid", self.browser.text())

    def test_an_error_stops_the_cells_after_it(self):
        # The cell goes on until the one after it is in the queue.
        self.show(["import time\ntry:\n    while True: time.sleep(0.01)\nexcept KeyboardInterrupt:\n    {}['plums']", "print('not reached')"])
        self.execute(2)
        self.wait_cell(1, "", "[*]:")
        self.interrupt()
        self.wait_cell(0, "KeyError: 'plums'", "[1]:")
        self.wait_cell(1, "", "[ ]:")
        self.assertEqual(self.cells()[1]["text"], "")

    def test_a_restart_begins_anew(self):
        others = self.sessions()
        self.show(["petals = 5", "petals"])
        self.execute(2)
        self.wait_cell(1, "5", "[2]:")
        before = self.sessions() - others
        self.assertEqual(len(before), 1)
        self.browser.click("[data-jp-item-name='restart']")
        self.browser.click(".jp-Dialog .jp-mod-accept")
        wait(lambda: not before & self.sessions(), "the end of the session")
        self.focus(1)
        self.execute()
        self.wait_cell(1, "NameError", "[1]:")

    def test_a_page_that_is_loaded_again_finds_its_kernel(self):
        self.show(["import time\nbulbs = 9\ntime.sleep(6)", "bulbs + 1"])
        self.execute()
        self.wait_cell(0, "", "[*]:")
        self.save()
        self.open()
        self.focus(1)
        self.execute()
        self.wait_cell(1, "10", "[2]:")

    def take_picture(self):
        """The notebook from its beginning, without a cursor that blinks."""
        self.browser.run("document.activeElement.blur(); document.querySelector('.jp-WindowedPanel-outer').scrollTo(0, 0)")
        self.browser.run("return document.fonts.ready.then(() => true)")
        time.sleep(1)
        self.picture.write_bytes(self.browser.picture())
