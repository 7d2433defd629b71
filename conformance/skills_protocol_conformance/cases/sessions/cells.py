"""Cells: what a program in a session finds, returns and leaves."""

from ...case import expect, expect_equal, shown
from ...session import failed
from .live import KEPT, ROLLED_BACK, Interpreter, session_case, state_of, value_of

CELLS = "Cells"
FATE = "What becomes of the state"
STUBBORN = """x = 2
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass
"""


def is_text(value):
    """True for a text that is not empty."""
    return isinstance(value, str) and value != ""


@session_case("new", CELLS, '`"session": "new"` begins a session.')
def new(session):
    """A call with \"new\" begins a session: its result has an id, the first cell and a checkpoint."""
    with Interpreter(session, "x = 1") as live:
        found = state_of(live.first)
        for member in ("id", "checkpoint"):
            expect(is_text(found.get(member)), f"`session.{member}` is a text, got {shown(found)}")
        expect_equal(found.get("cell"), 1, "`session.cell`")


@session_case("variables", CELLS, "The id continues the session: variables, imports and functions stay.")
def variables(session):
    """Variables, imports and functions of a cell are there in the next; cells are counted."""
    code = "import json\nx = [1]\ndef add(n):\n    x.append(n)\n"
    with Interpreter(session, code) as live:
        second = session.run("add(2)\njson.dumps(x)", session=live.id)
        expect_equal(value_of(second), "[1, 2]", "the value")
        third = session.run("add(3)\nx", session=live.id)
        expect_equal(value_of(third), [1, 2, 3], "the value of the next cell")
        expect_equal(state_of(third).get("id"), live.id, "`session.id`")
        expect_equal(state_of(third).get("cell"), 3, "`session.cell`")


@session_case("object", CELLS, "Instead of the id, an object can set conditions.")
def object_(session):
    """An object with `id` continues a session; one without, or with \"new\", begins one."""
    with Interpreter(session, "x = 1") as live:
        expect_equal(value_of(session.run("x", session={"id": live.id})), 1, "the value")
        for order in ({}, {"id": "new"}):
            begun = state_of(session.run("1", session=order))
            with Interpreter.of(session, begun.get("id")) as other:
                expect(other.id != live.id, f"{order} begins another session")
                expect_equal(begun.get("cell"), 1, f"`session.cell` of {order}")


@session_case("apart", CELLS, "A session is seen by its own cells alone.")
def apart(session):
    """Other sessions, and runs without one, find neither the variables nor the files of a session."""
    seen = "import os\n['x' in globals(), os.path.exists('/workspace/mine.txt')]"
    with Interpreter(session, "x = 1\nopen('mine.txt', 'w').write('a')") as live:
        with Interpreter(session) as other:
            expect_equal(other.value(seen), [False, False], "what another session finds")
        run = session.run(seen)
        expect("session" not in run, "a run without `session` has none in its result")
        expect_equal(run.get("output"), {"result": [False, False]}, "what a run without a session finds")
        expect_equal(live.value(seen), [True, True], "what the session finds")


@session_case("files-stay", CELLS, "Files stay in the workspace.")
def files_stay(session):
    """A file of a cell is there in the next."""
    with Interpreter(session, "open('a.txt', 'w').write('kept')") as live:
        expect_equal(live.value("open('a.txt').read()"), "kept", "the text")


@session_case("files-own", CELLS, "Only files that the cell made or changed are kept as blobs.")
def files_own(session):
    """A result has the files that its cell made or changed, and no others."""
    code = "for name in ('old.txt', 'changed.txt'):\n    open(name, 'w').write('a')\n0"
    with Interpreter(session, code) as live:
        code = "for name in ('new.txt', 'changed.txt'):\n    open(name, 'w').write('b2')\n0"
        run = live.cell(code)
        state_of(run)
        listed = {file["path"]: file for file in run.get("files", [])}
        expect_equal(sorted(listed), ["changed.txt", "new.txt"], "the paths")
        found = session.call("read_blob", blob_id=listed["changed.txt"].get("blob_id"))
        expect_equal(found["content"], "b2", "`content` of the changed file")
        expect_equal(live.cell("0").get("files", []), [], "the files of a cell that makes none")


@session_case("output", CELLS, "The value of the last expression is the output, as in a script.")
def output(session):
    """The last expression of a cell is its output; without one there is none, and `main` is not called."""
    with Interpreter(session, "x = 6\nx * 7") as live:
        expect_equal(value_of(live.first), 42, "the value")
        for code in ("y = 1", "None", "def main(args):\n    return 5\n"):
            run = live.cell(code)
            state_of(run)
            expect_equal(run.get("output", 0), None, f"`output` of {code!r}")
        run = live.cell("{'a': 1}")
        expect_equal(run.get("output"), {"a": 1}, "`output` of an object")


@session_case("history", CELLS, "`_`, `__` and `In` are set.")
def history(session):
    """`_` and `__` are the values of the last two cells, `In` has the programs by number."""
    with Interpreter(session, "'one'") as live:
        live.value("'two'")
        expect_equal(live.value("[_, __]"), ["two", "one"], "`_` and `__`")
        expect_equal(live.value("In[2].strip()"), "'two'", "`In[2]`")


@session_case("display", CELLS, "`display(x)` shows objects in several forms, in order.")
def display(session):
    """What a cell displays is in `display`, in order and in its forms; the output and the log are beside."""
    code = """
class Table:
    def _repr_html_(self):
        return '<b>1</b>'
    def __repr__(self):
        return 'a table'
print('hello')
display('first', Table())
display('last')
7
"""
    with Interpreter(session, "display('earlier')") as live:
        run = live.cell(code)
        expect_equal(value_of(run), 7, "the value")
        expect("hello" in run.get("logs_preview", ""), "the printed text is in the log")
        bundles = run.get("display")
        expect(isinstance(bundles, list) and len(bundles) == 3, f"three bundles, got {shown(bundles)}")
        texts = [bundle.get("text/plain", {}).get("text") for bundle in bundles]
        expect_equal(texts, ["'first'", "a table", "'last'"], "the texts, in order")
        expect_equal(bundles[1].get("text/html", {}).get("text"), "<b>1</b>", "the other form")


@session_case("traceback", CELLS, "Tracebacks name the cell (`<cell 3>`) and show its lines.")
def traceback(session):
    """A traceback has the cells that its frames are of, with their numbers and their lines."""
    with Interpreter(session, "def fall():\n    raise ValueError('a fall')\n") as live:
        error = failed(live.cell("x = 1\nfall()"))
        expect_equal(error.get("type"), "ValueError", "`error.type`")
        found = error.get("traceback")
        for part in ("<cell 2>", "line 2", "fall()", "<cell 1>", "raise ValueError('a fall')"):
            # Lines may be shown in another spelling, such as with other quotation marks.
            is_there = isinstance(found, str) and part.replace("'", '"') in found.replace("'", '"')
            expect(is_there, f"the traceback has {part!r}, got {shown(found, 600)}")


@session_case("exception", FATE, "An exception does not change that: what ran before it stays.")
def exception(session):
    """A cell that raises is kept, with all that it did before."""
    with Interpreter(session, "x = 1") as live:
        run = live.cell("x = 2\n1 / 0\nx = 3")
        expect_equal(failed(run).get("type"), "ZeroDivisionError", "`error.type`")
        expect_equal(state_of(run).get("cell"), 2, "`session.cell`")
        expect_equal(live.value("x"), 2, "the value")


@session_case("rolled-back", FATE, "A cell that is stopped leaves no trace, and `reason` says why.")
def rolled_back(session):
    """A cell that does not end is rolled back: the session is at the checkpoint before it."""
    with Interpreter(session, "x = 1") as live:
        run = live.cell(STUBBORN, limits={"timeout_ms": 300})
        expect_equal(failed(run).get("type"), "Timeout", "`error.type`")
        found = state_of(run, ROLLED_BACK)
        expect(is_text(found.get("reason")), f"`session.reason` is a text, got {shown(found)}")
        expect_equal(
            found.get("checkpoint"), state_of(live.first).get("checkpoint"), "`session.checkpoint`"
        )
        expect_equal(live.value("x"), 1, "the value")


@session_case("truth", FATE, "The state that the result names is the state that the next cell finds.")
def truth(session):
    """A cell at its time limit is kept or rolled back, and the next cell finds what its result says."""
    with Interpreter(session, "x = 1") as live:
        run = live.cell("x = 2\nwhile True:\n    pass\n", limits={"timeout_ms": 300})
        failed(run)
        state = (run.get("session") or {}).get("state")
        expect(state in (KEPT, ROLLED_BACK), f"`session.state` is one of both, got {shown(state)}")
        expect_equal(live.value("x"), 2 if state == KEPT else 1, f"the value after a cell that is {state}")
