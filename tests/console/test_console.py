"""The console in a real browser: its main paths, hostile content in every field, the keyboard.

`scripts/check-console` runs these tests, and skips them where there is no browser.
"""

import json
import tempfile
import time
import unittest
import urllib.error
from pathlib import Path

from browser import Browser, wait
from servers import Units, Wardian

# What a program or an author may try. Each would set `pwned` if the page took it for markup or for a script.
CORPUS = [
    "<img src=x onerror=window.pwned=1>",
    "<script>window.pwned=1</script>",
    "<svg onload=window.pwned=1><script>window.pwned=1</script></svg>",
    "\"><iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "'-window.pwned=1-'",
    "{{constructor.constructor('window.pwned=1')()}}",
    "${window.pwned=1}",
    "</pre></script><style>*{display:none}</style><base href=//evil.example>",
    "[x](javascript:window.pwned=1) ![x](x onerror=window.pwned=1) <javascript:window.pwned=1>",
    "<a href=\"javascript:window.pwned=1\" id=main>x</a><form action=//evil.example id=nav><input name=key>",
    "</textarea><details open ontoggle=window.pwned=1>",
    "__proto__ \u202e\u0000 <math><mi//xlink:href=\"data:x,<script>window.pwned=1</script>\">",
]
HOSTILE = " ".join(CORPUS)
# A part of the corpus that a page must show as it is.
SEEN = "<img src=x onerror=window.pwned=1>"

# Everything on the page that could load or run something, and is not the console's own.
SUSPECTS = """
const bad = [];
if (window.pwned !== undefined) bad.push("a script ran");
for (const node of document.querySelectorAll("iframe, object, embed, base, meta[http-equiv], style, form[action], math, [srcdoc], [style]")) bad.push(node.outerHTML.slice(0, 200));
for (const node of document.querySelectorAll("script")) if (node.getAttribute("src") !== "/console/app.js") bad.push(node.outerHTML.slice(0, 200));
for (const node of document.querySelectorAll("*")) {
  for (const { name } of node.attributes) if (/^on/i.test(name)) bad.push(node.outerHTML.slice(0, 200));
  const target = node.getAttribute("href") ?? "";
  if (target && !/^(#|\\/console\\/|https?:\\/\\/|mailto:)/.test(target)) bad.push(node.outerHTML.slice(0, 200));
  if (node.tagName === "IMG" && !/^(blob:|\\/console\\/)/.test(node.getAttribute("src"))) bad.push(node.outerHTML.slice(0, 200));
}
return bad;
"""

HOSTILE_CODE = """
import sys
from runtime import blobs, log
import runtime

def main(args):
    bad = args["bad"]
    print(bad)
    print(bad, file=sys.stderr)
    log.info(bad)
    runtime.progress(1, 2, bad[:100])
    kinds = ["text/html", "image/svg+xml", "image/png", "application/json", "text/csv", "text/markdown", "application/pdf", "text/plain", "text/x-python", "application/xhtml+xml", "text/javascript", "application/octet-stream"]
    made = [blobs.write_bytes(bad.encode() + kind.encode(), kind=kind) for kind in kinds]
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="parent.pwned=1"><script>parent.pwned=1</script><image href="http://evil.example/x"/><foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>top.pwned=1</script></body></foreignObject></svg>'
    made.append(blobs.write_text(svg, kind="image/svg+xml"))
    made.append(blobs.write_text("a,b\\n" + '"' + bad.replace('"', '""') + '",1\\n', kind="text/csv"))
    made.append(blobs.write_json({bad: [bad, {"__proto__": bad}], "constructor": 1}))
    name = bad.replace("/", "_").replace("\\0", "")[:60]
    open(name + ".csv", "w").write(bad)
    open(name + ".png", "wb").write(bad.encode())
    return {"summary": bad, bad: bad, "rows": [{bad: bad}, {"x": [bad]}], "made": made, "__proto__": {"x": bad}}
"""

HOSTILE_ERROR = """
def main(args):
    bad = args["bad"]
    raise type(bad[:200], (Exception,), {})(bad)  # <img src=x onerror=window.pwned=1>
"""


def quoted(text):
    """A text of TOML."""
    return json.dumps(text.replace("\0", ""), ensure_ascii=False)


def make_hostile_skill(folder):
    """A skill whose author is hostile in every field that may hold a text."""
    skill = Path(folder, "evil.skill")
    (skill / "code").mkdir(parents=True)
    (skill / "skill.toml").write_text(f"""
name = "evil.skill"
version = "1.0.0"
description = {quoted(HOSTILE[:900])}
kind = "action"
namespace = "evil"
tags = [{quoted(CORPUS[0])}, {quoted(CORPUS[1])}]
custom = {quoted(HOSTILE)}

[runtime]
language = "python"
entrypoint = "code/main.py"
export = "main"

[inputs]
text = {{ type = "string", required = true, default = {quoted(CORPUS[2])}, description = {quoted(HOSTILE[:400])} }}
choice = {{ type = "string", enum = [{quoted(CORPUS[0])}, {quoted(CORPUS[3])}], description = {quoted(CORPUS[4])} }}
""")
    (skill / "SKILL.md").write_text(f"---\nname: {quoted(CORPUS[0])}\nshort_description: {quoted(CORPUS[1])}\ntags: [{quoted(CORPUS[2])}]\n---\n\n# {CORPUS[0]}\n\n"
                                    + "\n\n".join(text.replace("\0", "") for text in CORPUS) + f"\n\n| a | b |\n|---|---|\n| {CORPUS[0]} | {CORPUS[1]} |\n\n```python\n{CORPUS[1]}\n```\n\n- {CORPUS[2]}\n> {CORPUS[3]}\n\n[file](code/main.py)\n")
    (skill / "code/main.py").write_text(f"# {CORPUS[0]}\n\ndef main(args):\n    return {{'text': args['text'], 'evil': {CORPUS[1]!r}}}\n")
    return skill.parent


class InBrowser(unittest.TestCase):
    """One server and one browser for the tests of a class."""

    settings = ()
    skills = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.server = Wardian("records.arguments=true", "records.documents=true", *cls.settings, skills=make_hostile_skill(cls.folder.name))
        cls.addClassCleanup(cls.server.close)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.show("/overview")

    def tearDown(self):
        self.assertEqual(self.violations(), [])

    def violations(self):
        """What the browser refused or complained of. That a request was refused is no complaint."""
        return [text for text in self.browser.complaints() if "Failed to load resource" not in text]

    def show(self, place):
        """Opens a page of the console anew, and waits until it is complete."""
        self.browser.open("about:blank")
        self.browser.open(f"{self.server.url}/console#{place}")
        self.browser.find("h1")
        wait(lambda: self.browser.run("return document.getElementById('main').dataset.shown === location.hash || Boolean(document.querySelector('.sign-in'))"), f"the page {place}")

    def assert_clean(self):
        self.assertEqual(self.browser.run(SUSPECTS), [])


class MainPaths(InBrowser):
    def test_the_overview_shows_rates_workers_and_runs(self):
        self.server.call("execute_skill", {"name": "hello.world", "args": {"name": "Ada"}})
        self.show("/overview")
        self.browser.wait_text("ready")
        for title in ("Runs ended", "Workers", "Queue", "Images", "The last day", "median", "Latest runs"):
            self.browser.wait_text(title)
        self.browser.wait_text("hello.world@")
        # Without a second look there is no rate.
        wait(lambda: "–" not in self.browser.text(".stat .figure"), "a rate")

    def test_a_skill_is_found_read_and_executed(self):
        self.show("/skills")
        self.browser.fill("input[type=search]", "greets smallest")
        wait(lambda: self.browser.run("return document.querySelectorAll('.skill-list strong').length") == 1, "one skill")
        self.browser.click(".skill-list a")
        self.browser.wait_text("Whom to greet")
        self.browser.fill(".inputs input", "Ada")
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("Hello, Ada!", ".run")
        self.browser.wait_text("[info] Hello, Ada!", ".log")
        self.browser.click_text("[role=tab]", "Read me")
        self.browser.wait_text("Overview", ".prose")
        self.browser.click_text("[role=tab]", "Manifest")
        self.browser.wait_text("entrypoint", ".panel")
        self.browser.click_text("[role=tab]", "Files")
        self.browser.wait_text("def main(args)", ".panel pre")
        self.assertGreater(self.browser.run("return document.querySelectorAll('.py-keyword').length"), 0)

    def test_a_wrong_argument_is_told_beside_the_form(self):
        # The form keeps what another test has typed.
        self.browser.run("sessionStorage.clear()")
        self.show("/skills/data.csv.profile")
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("csv_blob: is required", ".inputs")
        self.assertIn("csv_blob", self.browser.run("return document.activeElement.labels[0].textContent"))
        self.browser.fill(".inputs input", "blob:nothing")
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("csv_blob", ".run .problem")

    def test_pictures_and_tables_of_a_run_are_shown(self):
        csv = self.server.blob(b"region,amount\nnorth,1200\nsouth,900\n", "text/csv")
        self.show("/skills/data.csv.profile")
        self.browser.fill(".inputs input", csv)
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("2 rows, 2 columns", ".run")
        self.browser.find(".run figure img")
        wait(lambda: self.browser.run("return document.querySelector('.run figure img').naturalWidth > 100"), "the picture")

    def test_a_program_prints_while_it_runs_and_can_be_stopped(self):
        self.show("/playground")
        self.browser.fill("textarea.code", "import time\nprint('begun', flush=True)\ntime.sleep(600)")
        self.browser.click_text("button", "Run")
        self.browser.wait_text("begun", ".log")
        self.browser.click_text(".run button", "Stop")
        self.browser.wait_text("cancelled", ".run-status")

    def test_a_traceback_leads_to_its_line(self):
        self.show("/playground")
        self.browser.fill("textarea.code", "def f(x):\n    return 1 / x\n\n\ndef main(args):\n    return f(args['x'])\n")
        self.browser.fill(".settings textarea", '{"x": 0}')
        self.browser.click_text("button", "Run")
        self.browser.wait_text("ZeroDivisionError", ".run")
        self.browser.click_text(".jump", "2")
        chosen = self.browser.run("const area = document.activeElement; return area.value.slice(area.selectionStart, area.selectionEnd)")
        self.assertEqual(chosen, "    return 1 / x")
        self.assertEqual(self.browser.text(".marked"), "2")

    def test_a_wrong_argument_of_a_program_runs_nothing(self):
        self.show("/playground")
        self.browser.fill(".settings textarea", "[1]")
        self.browser.click_text("button", "Run")
        self.browser.wait_text("the arguments must be a JSON object")
        self.assertIn("Run the program", self.browser.text(".run"))
        self.browser.fill(".settings textarea", "{}")

    def test_a_run_is_found_read_repeated_and_shared(self):
        made = self.server.call("run_code", {"language": "python", "reproducible": True, "code": "print('one line')\nargs['n'] + 1", "args": {"n": 4}})
        id = made["run_id"]
        self.show("/runs?outcome=completed")
        self.browser.wait_text("run_code", "table")
        self.show(f"/runs/{id}")
        self.browser.wait_text("execute", ".timeline")
        self.assertEqual(self.browser.run("return document.querySelectorAll('.phases rect').length"), 5)
        self.browser.click_text("[role=tab]", "Log")
        self.browser.wait_text("one line", ".log")
        self.browser.click_text("a", "Repeat")
        wait(lambda: "args['n'] + 1" in self.browser.run("return document.querySelector('textarea.code')?.value ?? ''"), "the program")
        self.browser.click_text("button", "Run")
        self.browser.wait_text("completed", ".run-status")
        self.browser.wait_text("5", ".run")
        self.browser.click_text("button", "Share")
        wait(lambda: "copied" in self.browser.text("#notes") or f"playground?run=" in self.browser.text("#notes"), "the link")

    def test_a_form_keeps_its_values_while_another_tab_or_page_shows(self):
        self.show("/skills/data.csv.profile")
        self.browser.fill(".inputs input", "blob:typed")
        value = "return document.querySelector('.inputs input')?.value"
        self.browser.click_text("[role=tab]", "Execute")
        self.assertEqual(self.browser.run(value), "blob:typed")
        self.browser.click_text("[role=tab]", "Read me")
        self.browser.find(".prose")
        self.browser.click_text("[role=tab]", "Execute")
        self.assertEqual(self.browser.run(value), "blob:typed")
        self.browser.run("location.hash = '#/blobs'")
        self.browser.wait_text("Drop files here")
        self.browser.run("history.back()")
        wait(lambda: self.browser.run(value) == "blob:typed", "the form with its value")

    def test_cells_of_tables_stand_on_one_line(self):
        lines = "".join(f"2025-01-{day:02d},integer,a longer text of some words {day}\n" for day in range(1, 29))
        csv = self.server.blob(("day_of_the_year,kind_of_value,remark\n" + lines).encode(), "text/csv")
        self.show("/skills/data.csv.profile")
        self.browser.fill(".inputs input", csv)
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("28 rows", ".run")
        heights = self.browser.run("return [...document.querySelectorAll('.run table td:not(.long)')].map((cell) => cell.getBoundingClientRect().height)")
        self.assertGreater(len(heights), 5)
        self.assertLess(max(heights), 45)
        rows = self.browser.run("return [...document.querySelectorAll('.run tbody tr')].map((row) => row.getBoundingClientRect().height)")
        self.assertLess(max(rows), 200)

    def test_a_run_shows_its_program_arguments_output_and_title(self):
        code = "import json\n# Sums of a day\ndef main(args):\n    open('left.txt', 'w').write('x')\n    return {'rows': [{'n': args['n']}]}"
        made = self.server.call("run_code", {"language": "python", "code": code, "args": {"n": 41}, "keep_files": False})
        labelled = self.server.call("run_code", {"language": "python", "code": "1 / 0", "label": "Nightly <b>report</b>"})
        for run in (made, labelled):
            self.server.send("GET", f"/v1/runs/{run['run_id']}?wait_ms=5000")
        self.show("/runs")
        self.browser.wait_text("Sums of a day", "table")
        self.browser.wait_text("Nightly <b>report</b>", "table")
        self.browser.fill("input[type=search]", "nightly")
        wait(lambda: "Sums of a day" not in self.browser.text("table") and "Nightly" in self.browser.text("table"), "the run that was searched for")
        self.show("/runs?search=no+such+run")
        self.browser.wait_text("No run fits these filters")
        self.show(f"/runs/{made['run_id']}")
        self.browser.wait_text("Sums of a day", "h1")
        self.assertIn(made["run_id"], self.browser.text(".run-head"))
        self.browser.wait_text("def main(args):", ".panel pre")
        self.assertIn("41", self.browser.text(".panel table"))
        self.browser.wait_text("left.txt", ".panel")
        self.assertIn("n: 41", self.browser.text(".panel .boxed"))
        self.browser.click_text("button", "Run again and keep the files")
        wait(lambda: "Sums of a day" in self.browser.run("return document.querySelector('textarea.code')?.value ?? ''"), "the program")
        self.assertTrue(self.browser.run("return document.getElementById('keep-files').checked"))
        self.browser.click_text("button", "Run")
        self.browser.wait_text("left.txt", ".run .preview-bar")
        self.browser.wait_text("Download", ".run .preview-bar")

    def test_a_run_shows_the_calls_of_tools_that_it_goes_on_with(self):
        code = "import tools\nawait tools.query(n=1)"
        asked = self.server.call("run_code", {"language": "python", "code": code, "tools": [{"name": "query"}]})
        answers = [{"id": asked["requests"][0]["id"], "error": "no"}]
        more = {"session": asked["session"]["id"], "answers": answers}
        ended = self.server.call("run_code", {"language": "python", "code": "", **more})
        self.server.send("GET", f"/v1/runs/{ended['run_id']}?wait_ms=5000")
        self.show(f"/runs/{ended['run_id']}")
        self.browser.wait_text("Calls of tools", ".panel")
        row = self.browser.text(".panel [aria-label='Calls of tools'] tbody")
        for text in ("c1-r1", "query", "failed"):
            self.assertIn(text, row)

    def test_a_frame_of_a_stored_run_is_shown_as_of_a_fresh_one(self):
        code = "import pandas as pd\n{'a': [{'x': 1}], 'frame': pd.DataFrame({'peak': [41, 42]})}"
        heads = "return [...document.querySelectorAll('%s h4')].map((node) => node.textContent)"
        self.show("/playground")
        self.browser.fill("textarea.code", code)
        self.browser.click_text("button", "Run")
        self.browser.wait_text("2 rows", ".run")
        fresh = self.browser.run(heads % ".run")
        self.assertEqual(fresh[:2], ["frame", "a"])
        made = self.server.call("run_code", {"language": "python", "code": code})
        self.server.send("GET", f"/v1/runs/{made['run_id']}?wait_ms=5000")
        self.show(f"/runs/{made['run_id']}")
        self.browser.wait_text("2 rows", ".panel")
        self.assertEqual(self.browser.run(heads % ".panel")[:2], ["frame", "a"])

    def test_a_file_that_was_not_kept_is_kept_by_a_button(self):
        self.show("/playground")
        self.browser.fill("textarea.code", "open('peaks.csv', 'w').write('k,peak\\n0,1\\n')")
        self.browser.click("#keep-files")
        self.browser.click_text("button", "Run")
        self.browser.wait_text("peaks.csv", ".run .plain-list")
        self.browser.click_text(".run button", "Run again and keep the files")
        self.browser.wait_text("peaks.csv", ".run .preview-bar")
        self.browser.click("#keep-files")

    def test_blobs_are_listed_by_time_and_lead_to_the_run_that_made_them(self):
        old = self.server.blob(b"the older one", "text/plain")
        time.sleep(0.05)
        made = self.server.call("run_code", {"language": "python", "code": "# Writer of a blob\nfrom runtime import blobs\n{'b': blobs.write_text('the newer one', kind='text/plain')}"})
        blob = made["output"]["b"]
        self.server.send("GET", f"/v1/runs/{made['run_id']}?wait_ms=5000")
        self.show("/blobs")
        order = self.browser.run("return [...document.querySelectorAll('tbody a')].map((link) => decodeURIComponent(link.getAttribute('href')).slice(8))")
        self.assertLess(order.index(blob), order.index(old))
        self.show(f"/blobs/{blob.replace(':', '%3A')}")
        self.browser.click_text("#main a", "Writer of a blob")
        self.browser.wait_text("Writer of a blob", "h1")

    def test_two_runs_are_compared(self):
        ids = [self.server.call("run_code", {"language": "python", "code": f"print({n})\n{n}"})["run_id"] for n in (1, 2)]
        for id in ids:
            self.server.send("GET", f"/v1/runs/{id}?wait_ms=5000")
        self.show("/runs")
        for id in ids:
            self.browser.click(f"input[value={id}]")
        self.browser.click_text("a", "Compare the two")
        self.browser.wait_text("differs", "table.compare")
        self.assertIn("Phase execute", self.browser.text("table.compare"))

    def test_blobs_are_stored_shown_verified_and_deleted(self):
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            file.write(b"region;amount\nnorth;1200\n\"so;uth\";900\n")
            file.flush()
            self.show("/blobs")
            self.browser.choose_file("input[type=file]", file.name)
            self.browser.wait_text("so;uth", ".preview table")
        self.browser.click_text("button", "Verify")
        self.browser.wait_text("The content fits its id.")
        self.browser.click_text("button", "Delete")
        self.browser.click_text("[role=alertdialog] button", "Delete")
        self.browser.wait_text("Drop files here")

    def test_each_kind_of_blob_has_its_preview(self):
        made = self.server.call("run_code", {"language": "python", "code": """
import io
from PIL import Image
from runtime import blobs
buffer = io.BytesIO(); Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
{"png": blobs.write_bytes(buffer.getvalue(), kind="image/png"), "json": blobs.write_json({"a": [1, {"b": None}]}),
 "svg": blobs.write_text('<svg xmlns="http://www.w3.org/2000/svg" width="50" height="20"><rect width="9" height="9"/></svg>', kind="image/svg+xml"),
 "pdf": blobs.write_bytes(b"%PDF-1.4 /Type /Page ", kind="application/pdf"), "bytes": blobs.write_bytes(bytes(range(40)))}
"""})["output"]
        for name, selector, text in [("png", "figure img", ""), ("svg", "figure img", ""), ("json", "details.tree", "1 member"), ("pdf", ".empty", "1 page"), ("bytes", "pre", "000010  10 11")]:
            self.show(f"/blobs/{made[name].replace(':', '%3A')}")
            self.browser.find(f".preview {selector}")
            self.browser.wait_text(text, ".preview")

    def test_a_pdf_has_a_tab_of_its_own_in_which_nothing_is_html(self):
        hostile = b"%PDF-1.4\n<html><script>document.title = 'owned'</script><img src=x onerror=alert(1)>\n%%EOF"
        blob = self.server.blob(hostile, "application/pdf")
        self.show(f"/blobs/{blob.replace(':', '%3A')}")
        self.browser.click_text(".preview a", "Open it in a new tab")
        with self.browser.new_tab():
            wait(lambda: self.browser.run("return document.readyState === 'complete'"), "the document")
            seen = self.browser.run("return [document.contentType, document.title, document.scripts.length, document.images.length, window.opener === null]")
            self.assertEqual(seen, ["application/pdf", "", 0, 0, True])

    def test_an_address_that_leads_nowhere_says_so(self):
        for place, text in [("/nothing", "There is no such page"), ("/runs/run_" + "0" * 32, "run"), ("/blobs/blob%3Ax", "there is no such blob"), ("/skills/no.such", "no skill is called")]:
            self.show(place)
            self.browser.wait_text(text, "#main")

    def test_pages_fit_a_narrow_screen(self):
        id = self.server.call("run_code", {"language": "python", "code": "print('x' * 500)\n{'rows': [{'a' * 40: 'b' * 200}]}"})["run_id"]
        self.browser.resize(380, 800)
        try:
            for place in ("/overview", "/skills", "/skills/charts.plot.render", "/playground", "/runs", f"/runs/{id}", "/blobs", "/tenants"):
                self.show(place)
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 380, place)
        finally:
            self.browser.resize(1280, 900)


class Hostile(InBrowser):
    """Nothing that a program, an author or a caller writes becomes markup or a script."""

    def test_the_checks_find_what_they_are_for(self):
        self.browser.run("document.body.append(Object.assign(document.createElement('style'), {textContent: '*{color:red}'}))")
        self.assertTrue(any("Content Security Policy" in text for text in self.violations()))
        self.assertEqual(len(self.browser.run(SUSPECTS)), 1)
        refused = self.browser.run("try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); return 'written' } catch (error) { return error.name }")
        self.assertEqual(refused, "TypeError")
        self.assertEqual(self.browser.run("const link = document.createElement('a'); link.setAttribute('href', 'javascript:window.pwned=1'); document.body.append(link); link.click(); return String(window.pwned)"), "undefined")
        time.sleep(0.3)
        self.violations()

    def test_what_a_program_makes_is_text(self):
        self.show("/playground")
        self.browser.fill("textarea.code", HOSTILE_CODE)
        self.browser.fill(".settings textarea", json.dumps({"bad": HOSTILE}))
        self.browser.click_text("button", "Run")
        self.browser.wait_text("completed", ".run-status")
        self.browser.wait_text(SEEN, ".log")
        self.browser.wait_text(SEEN, ".run-result table")
        wait(lambda: "Loading…" not in self.browser.text(".run"), "the previews")
        self.assert_clean()
        run = self.browser.run("return document.querySelector('.run-status a').getAttribute('href')").removeprefix("#")
        blobs = self.browser.run("return [...document.querySelectorAll('.run a')].map((link) => link.getAttribute('href')).filter((target) => target.startsWith('#/blobs/'))")
        self.assertGreater(len(blobs), 12)
        for blob in dict.fromkeys(blobs):
            self.show(blob.removeprefix("#"))
            wait(lambda: "Loading…" not in self.browser.text(".preview"), "the preview")
            self.assert_clean()
        self.server.send("GET", f"/v1{run}?wait_ms=5000")
        self.show(run)
        self.browser.wait_text(SEEN, "#main")
        for tab in ("Log", "Blobs", "Details"):
            self.browser.click_text("[role=tab]", tab)
            wait(lambda: "Loading…" not in self.browser.text(".panel"), tab)
            self.assert_clean()
        self.show("/blobs")
        self.assert_clean()

    def test_errors_and_tracebacks_are_text(self):
        self.show("/playground")
        self.browser.fill("textarea.code", HOSTILE_ERROR)
        self.browser.fill(".settings textarea", json.dumps({"bad": HOSTILE}))
        self.browser.click_text("button", "Run")
        self.browser.wait_text(SEEN, ".run .problem")
        self.browser.wait_text("# " + SEEN, ".traceback")
        self.assert_clean()
        run = self.browser.run("return document.querySelector('.run-status a').getAttribute('href')").removeprefix("#")
        self.server.send("GET", f"/v1{run}?wait_ms=5000")
        for place in (run, "/runs", "/overview", f"/runs/compare/{run.split('/')[-1]}/{run.split('/')[-1]}"):
            self.show(place)
            self.browser.wait_text("xception" if place == run else "run_", "#main")
            self.assert_clean()

    def test_skills_are_text(self):
        self.show("/skills")
        self.browser.wait_text(SEEN, ".skill-list")
        self.assert_clean()
        self.show("/skills/evil.skill")
        self.browser.wait_text(SEEN, ".lead")
        self.browser.wait_text("<img src=x", ".inputs")
        self.browser.fill(".inputs textarea", HOSTILE.replace("\0", ""))
        self.browser.click(".inputs button[type=submit]")
        self.browser.wait_text("completed", ".run-status")
        self.browser.wait_text(SEEN, ".run-result")
        self.assert_clean()
        for tab in ("Read me", "Manifest", "Files"):
            self.browser.click_text("[role=tab]", tab)
            self.browser.wait_text("window.pwned=1", ".panel")
            self.assert_clean()

    def test_names_of_files_and_addresses_are_text(self):
        self.show("/blobs")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "<img src=x onerror=window.pwned=1>.html")
            file.write_text("<script>parent.pwned=1</script>" + HOSTILE)
            self.browser.choose_file("input[type=file]", file)
            self.browser.wait_text("text/html", ".preview")
            self.browser.wait_text("<script>parent.pwned=1</script>", ".preview pre")
        self.assert_clean()
        for text in CORPUS:
            quoted_text = "".join(f"%{byte:02X}" for byte in text.encode())
            for place in (f"/{quoted_text}", f"/skills/{quoted_text}", f"/runs/{quoted_text}", f"/blobs/{quoted_text}", f"/runs?skill={quoted_text}&outcome={quoted_text}", f"/playground?run={quoted_text}&blob={quoted_text}"):
                if text in CORPUS[:3]:
                    self.show(place)
                    self.assert_clean()


class WithKeys(InBrowser):
    settings = ("auth.mode=keys", "workers.require_lockdown=false", "tenants.isolation=shared")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        make = lambda *more: cls.server.command("keys", "create", "--json", *more)
        made = [json.loads(make("--tenant", "acme", "--name", SEEN, "--scopes", "discover,execute,code,blobs,admin")),
                json.loads(make("--tenant", "beta", "--name", "reader", "--scopes", "discover"))]
        cls.admin, cls.reader = [key["key"] if isinstance(key.get("key"), str) else key["token"] for key in made]

    def sign_in(self, key):
        self.browser.run("sessionStorage.clear()")
        self.show("/overview")
        self.browser.type("#key", key)
        self.browser.press("Enter")
        self.browser.find("nav a")

    def test_a_key_is_asked_for_and_kept_in_the_tab_alone(self):
        self.browser.run("sessionStorage.clear()")
        self.show("/overview")
        self.assertEqual(self.browser.run("return document.querySelectorAll('nav a').length"), 0)
        self.browser.type("#key", "wardian_wrong")
        self.browser.press("Enter")
        self.browser.wait_text("the server does not know this key")
        self.sign_in(self.admin)
        self.browser.wait_text("acme", "#session")
        self.assertNotIn(self.admin, self.browser.run("return location.href + document.cookie + document.documentElement.outerHTML + JSON.stringify({...localStorage})"))
        self.browser.click_text("button", "Sign out")
        self.browser.find("#key")
        self.assertFalse(self.browser.run("return JSON.stringify({...sessionStorage})").count("wardian_"))

    def test_an_operator_sees_tenants_and_keys(self):
        self.sign_in(self.admin)
        self.show("/tenants")
        self.browser.wait_text("beta", "#main")
        self.browser.wait_text(SEEN, "#main")
        self.assert_clean()
        self.assertNotIn(self.admin, self.browser.run("return document.documentElement.outerHTML"))

    def test_an_operator_makes_a_key_that_shows_once_and_revokes_it(self):
        self.sign_in(self.admin)
        self.show("/tenants")
        self.browser.fill("form input[placeholder=acme]", "gamma")
        self.browser.fill("form input[placeholder=ci]", "made here")
        self.browser.click_text("button", "Create key")
        self.browser.wait_text("It is shown only once")
        made = self.browser.text(".secret")
        caller = json.loads(self.server.send("GET", "/v1/caller", key=made))
        self.assertEqual((caller["tenant"], caller["scopes"]), ("gamma", ["discover", "execute", "code", "blobs", "approve"]))
        self.browser.click_text("button", "Done")
        self.assertNotIn(made, self.browser.run("return document.documentElement.outerHTML + JSON.stringify({...sessionStorage})"))
        self.browser.click(f"button[aria-label='Revoke {made.split('_')[1]}']")
        self.browser.click_text("[role=alertdialog] button", "Revoke")
        self.browser.wait_text("is revoked", "#notes")
        with self.assertRaises(urllib.error.HTTPError):
            self.server.send("GET", "/v1/caller", key=made)

    def test_pages_are_those_of_the_scopes(self):
        self.sign_in(self.reader)
        self.assertEqual(self.browser.text("nav").split(), ["Overview", "Skills"])
        for place in ("/tenants", "/playground", "/blobs"):
            self.show(place)
            self.browser.wait_text("This key does not open this page")
        self.show("/skills/hello.world")
        self.assertNotIn("Execute", self.browser.text("[role=tablist]"))


class Keyboard(InBrowser):
    def test_everything_can_be_reached_with_the_keyboard(self):
        self.browser.press("Tab")
        self.assertEqual(self.browser.focused(), "a Skip to the content")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "main")
        self.show("/skills/hello.world")
        seen = []
        for _ in range(30):
            self.browser.press("Tab")
            seen.append(self.browser.focused())
            if seen[-1] == "button Execute" and "input" in " ".join(seen):
                break
        self.assertIn("button Execute", seen)
        self.browser.run("document.querySelector('.inputs button[type=submit]').focus()")
        self.browser.press("Enter")
        self.browser.wait_text("Hello, world!", ".run")
        self.browser.run("document.querySelector('[role=tab]').focus()")
        self.browser.press("ArrowRight")
        self.assertEqual(self.browser.focused(), "button Read me")
        self.browser.wait_text("Overview", ".prose")

    def test_the_editor_indents_runs_and_lets_go(self):
        self.show("/playground")
        self.browser.fill("textarea.code", "")
        self.browser.type("textarea.code", "if True:")
        self.browser.press("Enter")
        self.browser.type("textarea.code", "print('typed')")
        self.assertEqual(self.browser.run("return document.querySelector('textarea.code').value"), "if True:\n    print('typed')")
        self.browser.press("Control", "Enter")
        self.browser.wait_text("typed", ".log")
        self.browser.press("Tab")
        self.assertEqual(self.browser.run("return document.activeElement.className"), "code")
        self.browser.press("Escape")
        self.browser.press("Tab")
        self.assertNotEqual(self.browser.run("return document.activeElement.className"), "code")

    def test_controls_have_names_and_pages_have_landmarks(self):
        unnamed = """
        const nameOf = (node) => node.getAttribute("aria-label") ?? node.labels?.[0]?.textContent ?? node.textContent.trim();
        return [...document.querySelectorAll("button, a, input, select, textarea, [role=region], progress")].filter((node) => !nameOf(node)).map((node) => node.outerHTML.slice(0, 100));
        """
        for place in ("/overview", "/skills", "/skills/charts.plot.render", "/playground", "/runs", "/blobs", "/tenants"):
            self.show(place)
            self.assertEqual(self.browser.run(unnamed), [], place)
            self.assertEqual(self.browser.run("return ['main', 'nav', 'header', 'h1'].map((name) => document.querySelectorAll(name).length)"), [1, 1, 1, 1], place)
            self.assertEqual(self.browser.run("return [...document.querySelectorAll('[id]')].map((node) => node.id).filter((id, at, all) => all.indexOf(id) !== at)"), [], place)


class Modules(unittest.TestCase):
    def test_modules_read_what_they_should(self):
        units = Units()
        self.addCleanup(units.close)
        with Browser() as browser:
            browser.open(f"{units.url}/units.html")
            try:
                title = wait(lambda: (lambda text: text if text.startswith(("passed", "failed")) else None)(browser.run("return document.title")), "the end of the tests")
            except Exception:
                print(browser.complaints())
                raise
            self.assertTrue(title.startswith("passed"), title)
            self.assertGreater(int(title.split()[1]), 80)


if __name__ == "__main__":
    unittest.main()
