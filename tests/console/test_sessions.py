"""The pages of sessions in a real browser: notebooks, checkpoints, and what cells display."""

import json
import threading
import time
import urllib.error

from browser import wait
from test_console import CORPUS, SEEN, InBrowser

# A cell whose displays a browser would render, if the page let it.
HOSTILE_CELL = """
class Shown:
    def __init__(self, forms): self.forms = forms
    def _repr_mimebundle_(self, include=None, exclude=None): return self.forms

for text in CORPUS:
    display(Shown({"text/html": text}))
    display(Shown({"text/html": f"<table onclick=window.pwned=1 style='color:red'><tr><td colspan=2 id=main>seen {text}</td></tr></table>"}))
    display(Shown({"text/markdown": text}))
    display(Shown({"image/svg+xml": text}))
    display(Shown({"text/plain": text}))
display(Shown({"image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg" width="30" height="20" onload="parent.pwned=1"><script>parent.pwned=1</script><image href="http://evil.example/x"/><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>top.pwned=1</script></body></foreignObject></svg>'}))
display(Shown({"text/html": "<p>long</p>" + "<script>parent.pwned=1</script><img src=x onerror=parent.pwned=1>" * 2000}))
print(HOSTILE)
raise type(HOSTILE[:200], (Exception,), {})(HOSTILE)
"""


class OnSessions(InBrowser):
    """Requests about sessions, next to the page."""

    def send(self, method, path, body=None, key=None):
        answer = self.server.send(method, f"/v1/sessions{path}", None if body is None else json.dumps(body).encode(), key)
        return json.loads(answer) if answer else None

    def begin(self, label=None):
        return self.send("POST", "", {"label": label} if label else {})["id"]

    def cell(self, session, code, **more):
        return self.server.call("run_code", {"language": "python", "code": code, "session": session, **more})

    def type_cell(self, code):
        self.browser.fill("textarea.code", code)
        self.browser.click_text(".next-cell button", "Run")

    def item(self, number):
        """What the page shows of a cell."""
        return self.browser.run("return [...document.querySelectorAll('.cell')].find((cell) => cell.querySelector('h2').textContent === `Cell ${arguments[0]}`)?.innerText ?? ''", number)

    def wait_item(self, number, text):
        wait(lambda: text in self.item(number), f"cell {number} with {text!r} (it says {self.item(number)[:600]!r})")


class Notebooks(OnSessions):
    def test_a_session_is_begun_used_and_closed(self):
        self.show("/sessions")
        self.browser.fill("form input", "monthly report")
        self.browser.click_text("button", "New session")
        self.browser.wait_text("monthly report", "h1")
        id = self.browser.run("return location.hash").rsplit("/", 1)[-1]
        self.browser.type("textarea.code", "total = 41")
        self.browser.press("Control", "Enter")
        self.wait_item(1, "kept")
        self.assertEqual(self.browser.run("return document.querySelector('textarea.code').value"), "")
        self.type_cell("print('adding')\ntotal + 1")
        self.wait_item(2, "42")
        self.assertIn("adding", self.item(2))
        self.browser.wait_text("2 cells", ".run-head")
        self.browser.wait_text("Cell 2", ".checkpoints [aria-current]")
        # Read again, the page is the same.
        before = self.item(2)
        self.show(f"/sessions/{id}")
        self.wait_item(2, "42")
        self.assertEqual(self.item(2), before)
        self.show("/sessions")
        row = self.browser.run("return [...document.querySelectorAll('tbody tr')].find((row) => row.textContent.includes('monthly report')).innerText")
        # It ends 24 hours after its last cell, which was less than a second ago on a fast machine.
        for text in ("warm", "2", "c2-", "just now" if "just now" in row else "ago"):
            self.assertIn(text, row)
        self.assertRegex(row, "in 2[34] h")
        self.browser.click_text("tbody a", "monthly report")
        # The focus moves to the page when it is complete.
        wait(lambda: self.browser.focused().startswith("main"), "the page")
        self.browser.click_text("button", "Close")
        self.assertEqual(self.browser.focused(), "button Keep")
        self.browser.click_text("[role=alertdialog] button", "Keep")
        self.assertEqual(self.send("GET", f"/{id}")["cells"], 2)
        self.browser.click_text(".title button", "Close")
        self.browser.click_text("[role=alertdialog] button", "Close")
        self.browser.wait_text("The session is closed", "#notes")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.send("GET", f"/{id}")
        self.assertEqual(refused.exception.code, 404)
        self.show(f"/sessions/{id}")
        self.browser.wait_text("does not exist", ".problem")

    def test_an_error_is_shown_and_the_state_before_it_is_kept(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell("kept = 1\n1 / 0")
        self.wait_item(1, "ZeroDivisionError")
        self.assertIn('File "<cell 1>", line 2', self.item(1))
        self.browser.wait_text("ended with ZeroDivisionError; its state is kept", ".next-cell")
        self.type_cell("kept + 1")
        self.wait_item(2, "VALUE\n2")

    def test_frames_and_pictures_are_shown(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell("import pandas as pd\nfrom PIL import Image\ndisplay(Image.new('RGB', (40, 30), 'red'))\n"
                       "class Vector:\n    def _repr_svg_(self):\n        return '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"50\" height=\"20\"><rect width=\"9\" height=\"9\"/></svg>'\n"
                       "display(Vector())\npd.DataFrame({'city': ['Bern', 'Basel'], 'people': [134, 176]})")
        self.wait_item(1, "kept")
        wait(lambda: self.browser.run("return [...document.querySelectorAll('.displayed img')].map((image) => image.naturalWidth)") == [40, 50], "two pictures")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('.displayed tr')].map((row) => [...row.cells].map((cell) => cell.textContent).join('|'))"),
                         ["|city|people", "0|Bern|134", "1|Basel|176"])
        # The picture is displayed, and is no file as well.
        self.assertNotIn("FILE", self.item(1))
        self.assertNotIn("VALUE", self.item(1))
        self.browser.click_text(".cell summary", "Value")
        self.browser.wait_text("2 rows", ".cell details")
        self.assert_clean()

    def test_a_running_cell_is_interrupted(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.assertTrue(self.browser.run("return [...document.querySelectorAll('.next-cell button')].at(-1).disabled"))
        self.type_cell("kept = 7\nprint('begun', flush=True)\nwhile True: pass")
        self.browser.wait_text("begun", ".cell .log")
        self.browser.click_text(".next-cell button", "Interrupt")
        self.wait_item(1, "KeyboardInterrupt")
        self.assertIn("kept", self.item(1))
        self.type_cell("kept")
        self.wait_item(2, "VALUE\n7")

    def test_what_a_cell_asks_is_answered_on_the_page(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell("print('before')\nname = input('Name? ')\nprint('after')\nname * 2")
        self.wait_item(1, "waiting")
        self.browser.wait_text("Cell 1 waits for answers", ".next-cell")
        self.assertTrue(self.browser.run("return document.querySelector('.next-cell .primary').disabled"))
        self.browser.fill(".asked input", "Ada")
        self.browser.click_text(".asked button", "Answer")
        self.wait_item(1, 'VALUE\n"AdaAda"')
        for text in ("before", "after", "kept"):
            self.wait_item(1, text)
        # What another client began, in a function.
        self.cell(id, "def f(): return [tools.query.sync(n=1), input('<b>Word</b>')]\nf()", tools=[{"name": "query"}])
        self.wait_item(2, "waiting")
        self.browser.fill(".asked textarea", "{")
        self.browser.click_text(".asked button", "Answer")
        self.browser.wait_text("is not JSON", ".asked .problem")
        self.browser.fill(".asked textarea", '{"rows": 2}')
        self.browser.click_text(".asked button", "Answer")
        self.browser.wait_text("<b>Word</b>", ".asked label")
        self.browser.click_text(".asked button", "Abandon")
        self.wait_item(2, "rolled back")
        self.type_cell("name")
        self.wait_item(3, 'VALUE\n"Ada"')
        self.assert_clean()

    def test_a_cell_that_is_rolled_back_says_why(self):
        id = self.begin()
        self.cell(id, "kept = 7")
        self.cell(id, "while True:\n    try:\n        while True: pass\n    except BaseException: pass", timeout_ms=300)
        self.show(f"/sessions/{id}")
        self.wait_item(2, "rolled back")
        self.assertIn("The session is where it was before this cell", self.item(2))
        self.assertIn("limit of 300 ms", self.item(2))
        self.browser.wait_text("Cell 1", ".checkpoints [aria-current]")
        self.type_cell("kept")
        self.wait_item(3, "VALUE\n7")

    def test_cells_of_other_clients_appear_and_can_be_interrupted(self):
        id = self.begin()
        self.cell(id, "1")
        ended = []
        other = threading.Thread(target=lambda: ended.append(self.cell(id, "while True: pass")))
        other.start()
        try:
            wait(lambda: any(cell["state"] == "running" for cell in self.send("GET", f"/{id}/cells")["cells"]), "a running cell")
            self.show(f"/sessions/{id}")
            self.wait_item(2, "running")
            # It has the session, so a second cell waits for its end.
            self.assertTrue(self.browser.run("return document.querySelector('.next-cell .primary').disabled"))
            self.browser.click_text(".next-cell button", "Interrupt")
            self.wait_item(2, "KeyboardInterrupt")
        finally:
            other.join()
        self.assertEqual(ended[0]["session"]["state"], "kept")
        wait(lambda: not self.browser.run("return document.querySelector('.next-cell .primary').disabled"), "the field for the next cell")
        # Without anything being done on the page.
        self.cell(id, "'from elsewhere'")
        self.wait_item(3, 'VALUE\n"from elsewhere"')
        self.browser.wait_text("Cell 3", ".checkpoints [aria-current]")

    def test_a_cell_goes_on_behind_another_page_and_ends_with_the_tab(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.type_cell("import time\nfor n in range(30): time.sleep(0.1)\nprint('over')")
        self.browser.wait_text("The cell is running", ".next-cell")
        self.browser.run("location.hash = '#/sessions'")
        self.browser.wait_text("New session")
        self.browser.run("history.back()")
        self.wait_item(1, "running")
        self.wait_item(1, "Details")
        self.assertIn("kept", self.item(1))
        self.type_cell("while True: pass")
        self.browser.wait_text("The cell is running", ".next-cell")
        wait(lambda: len(self.send("GET", f"/{id}/cells")["cells"]) == 2, "the second cell")
        self.browser.close_tab()
        wait(lambda: self.send("GET", f"/{id}/cells")["cells"][1]["state"] == "rolled_back", "the end of the cell")
        self.show(f"/sessions/{id}")
        self.wait_item(2, "The session is where it was before this cell")

    def test_a_refused_cell_stays_in_its_field(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.send("DELETE", f"/{id}")
        self.type_cell("precious = 1")
        self.browser.wait_text("does not exist", ".problem")
        self.assertEqual(self.browser.run("return document.querySelector('textarea.code').value"), "precious = 1")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.cell').length"), 0)

    def test_what_was_typed_is_kept_until_it_runs(self):
        id = self.begin()
        self.show(f"/sessions/{id}")
        self.browser.fill("textarea.code", "typed = 1")
        self.browser.run("location.hash = '#/sessions'")
        self.browser.wait_text("New session")
        self.browser.run("history.back()")
        wait(lambda: self.browser.run("return document.querySelector('textarea.code')?.value") == "typed = 1", "the text")

    def test_old_cells_are_read_when_they_are_asked_for(self):
        id = self.begin()
        for number in range(1, 53):
            self.cell(id, f"n = {number}")
        self.show(f"/sessions/{id}")
        self.wait_item(52, "n = 52")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.cell').length"), 50)
        self.browser.click_text("button", "Show earlier cells")
        self.wait_item(1, "n = 1")
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('.cell h2')].map((head) => Number(head.textContent.slice(5)))"), list(range(1, 53)))
        self.assertNotIn("Show earlier", self.browser.text("#main"))

    def test_a_notebook_is_exported(self):
        id = self.begin("a/b: report")
        self.cell(id, "print('hi')")
        self.show(f"/sessions/{id}")
        self.browser.run("window.saved = []; URL.createObjectURL = (content) => { window.saved.push(content); return '#saved'; };"
                         "HTMLAnchorElement.prototype.click = function () { window.saved.push(this.download); };")
        self.browser.click_text("button", "Export")
        wait(lambda: self.browser.run("return window.saved.length") == 2, "the notebook")
        text, name = self.browser.run("return window.saved[0].text().then((text) => [text, window.saved[1]])")
        self.assertEqual(name, "a-b-report.ipynb")
        self.assertEqual([cell["source"] for cell in json.loads(text)["cells"]], ["print('hi')"])


class Checkpoints(OnSessions):
    def test_a_session_goes_back_and_its_checkpoints_are_a_tree(self):
        id = self.begin()
        for n in (1, 2, 3):
            self.cell(id, f"n = {n}")
        self.show(f"/sessions/{id}")
        self.browser.click("button[aria-label='Restore cell 1']")
        self.browser.wait_text("Cell 1", ".checkpoints [aria-current]")
        self.wait_item(2, "not in the current state")
        self.assertNotIn("not in the current state", self.item(1))
        self.type_cell("n")
        self.wait_item(4, "VALUE\n1")
        branches = "return [...document.querySelectorAll('.branch strong')].map((one) => one.textContent)"
        wait(lambda: self.browser.run(branches) == ["Cell 2", "Cell 3"], "the branch that was left")
        self.browser.wait_text("Cell 4", ".checkpoints [aria-current]")

    def test_a_checkpoint_gets_a_name(self):
        id = self.begin()
        self.cell(id, "n = 1")
        self.show(f"/sessions/{id}")
        self.browser.click("button[aria-label='Name checkpoint 1']")
        self.assertEqual(self.browser.focused(), "input Name of checkpoint 1")
        self.browser.type(".inline-form input", "clean data")
        self.browser.press("Enter")
        self.browser.wait_text("clean data", ".checkpoint .tag")
        self.assertEqual(self.send("GET", f"/{id}")["checkpoints"][0]["name"], "clean data")

    def test_a_fork_goes_on_alone(self):
        id = self.begin("base")
        for n in (1, 2):
            self.cell(id, f"n = {n}")
        self.show(f"/sessions/{id}")
        self.browser.click("button[aria-label='Fork from cell 1']")
        self.browser.wait_text("Cell 1 ran in the session that this one was forked from")
        fork = self.browser.run("return location.hash").rsplit("/", 1)[-1]
        self.assertNotEqual(fork, id)
        self.type_cell("n")
        self.wait_item(2, "VALUE\n1")
        self.assertEqual(self.cell(id, "n")["output"], {"result": 2})
        self.browser.click_text(".title button", "Fork")
        wait(lambda: not self.browser.run("return location.hash").endswith(fork), "a fork of the fork")
        self.browser.wait_text("Cells 1 to 2 ran in the session")


class HostileCells(OnSessions):
    """Nothing that a cell displays, or a caller names, becomes markup or a script."""

    def test_what_cells_display_is_no_markup(self):
        id = self.begin(SEEN)
        corpus = [text.replace("\0", "") for text in CORPUS]
        self.show(f"/sessions/{id}")
        self.browser.fill("textarea.code", f"CORPUS = {corpus!r}\nHOSTILE = ' '.join(CORPUS)\nfor text in CORPUS: print(text)\n")
        self.browser.click_text(".next-cell button", "Run")
        self.wait_item(1, SEEN)
        self.type_cell(HOSTILE_CELL)
        self.wait_item(2, "kept")
        self.wait_item(2, SEEN)
        def settled():
            return "Loading…" not in self.browser.text("#main")
        for again in (False, True):
            if again:
                name = f"/{id}/checkpoints"
                self.send("POST", name, {"name": CORPUS[1]})
                self.show(f"/sessions/{id}")
                self.browser.wait_text(CORPUS[1], ".checkpoints")
                self.browser.wait_text(SEEN, "h1")
            wait(lambda: "long" in self.browser.run("return [...document.querySelectorAll('.html')].map((one) => one.textContent)"), "the last display")
            wait(settled, "the displays")
            time.sleep(0.5)
            self.assert_clean()
            self.assertEqual(self.browser.run("return document.querySelectorAll('.html td[colspan=\"2\"]').length"), len(CORPUS))
            self.assertEqual(self.browser.run("return document.querySelectorAll('#main').length"), 1)
        self.show("/sessions")
        self.browser.wait_text(SEEN, "table")
        self.assert_clean()

    def test_addresses_are_text(self):
        for text in CORPUS[:3]:
            self.show("/sessions/" + "".join(f"%{byte:02X}" for byte in text.encode()))
            self.browser.wait_text("session", ".problem")
            self.assert_clean()


class Keys(OnSessions):
    settings = ("auth.mode=keys", "workers.require_lockdown=false", "tenants.isolation=shared")

    def test_a_key_without_blobs_sees_all_but_pictures(self):
        made = json.loads(self.server.command("keys", "create", "--json", "--tenant", "acme", "--name", "coder", "--scopes", "code"))
        key = made["key"] if isinstance(made.get("key"), str) else made["token"]
        def known():
            try:
                return self.server.send("GET", "/v1/caller", key=key)
            except urllib.error.HTTPError:
                return None
        wait(known, "the key")
        id = self.send("POST", "", {}, key)["id"]
        self.server.call("run_code", {"language": "python", "session": id, "code": "from PIL import Image\nopen('left.txt', 'w').write('x')\nprint('hi')\nImage.new('RGB', (4, 3))"}, key)
        self.browser.run("sessionStorage.clear()")
        self.show("/overview")
        self.browser.type("#key", key)
        self.browser.press("Enter")
        self.browser.find("nav a[href='#/sessions']")
        self.show(f"/sessions/{id}")
        self.wait_item(1, "hi")
        self.wait_item(1, "image/png is not shown: this key lacks the scope blobs")
        self.wait_item(1, "size=4x3")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.cell .problem').length"), 0)


class Access(OnSessions):
    def pages(self):
        id = self.begin()
        self.cell(id, "import pandas as pd\nprint('x' * 500)\ndisplay(pd.DataFrame({'a' * 40: ['b' * 200], 'c' * 40: [1]}))\n'y' * 500")
        self.cell(id, "1 / 0")
        self.send("POST", f"/{id}/checkpoints", {"name": "n" * 100})
        return ["/sessions", f"/sessions/{id}"]

    def test_pages_fit_a_narrow_screen(self):
        pages = self.pages()
        self.browser.resize(380, 800)
        try:
            for place in pages:
                self.show(place)
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 380, place)
        finally:
            self.browser.resize(1280, 900)

    def test_controls_have_names_and_can_be_reached(self):
        unnamed = """
        const nameOf = (node) => node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent.trim();
        return [...document.querySelectorAll("button, a, input, textarea, [role=region], progress, main section")].filter((node) => !nameOf(node)).map((node) => node.outerHTML.slice(0, 100));
        """
        for place in self.pages():
            self.show(place)
            self.assertEqual(self.browser.run(unnamed), [], place)
            self.assertEqual(self.browser.run("return ['main', 'nav', 'header', 'h1'].map((name) => document.querySelectorAll(name).length)"), [1, 1, 1, 1], place)
            self.assertEqual(self.browser.run("return [...document.querySelectorAll('[id]')].map((node) => node.id).filter((id, at, all) => all.indexOf(id) !== at)"), [], place)
        self.browser.run("document.querySelector('textarea.code').focus()")
        self.browser.press("Escape")
        self.browser.press("Tab")
        self.assertEqual(self.browser.focused(), "button Run")
        self.browser.press("Tab")
        # Nothing runs, so there is nothing to interrupt.
        self.assertIn(self.browser.focused(), ("button Fork from cell 1", "button Restore cell 1"))
