"""What a frontend asks of the kernel, with a real server."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from talk import PATIENCE, Message, Talk, kernel

import wardian
from wardian import errors
from wardian.jupyter.kernel import NO_INPUT, PYTHON_VERSION


@pytest.fixture(scope="module")
def talk(kernels: Path) -> Iterator[Talk]:
    """A kernel for the tests that do not end it."""
    with kernel() as talk:
        yield talk


def only_session(client: wardian.Client) -> wardian.Session:
    """The session of the last kernel that began one."""
    return client.open_session(client.sessions(limit=1).items[0].id)


def test_values_are_what_repr_says(talk: Talk) -> None:
    code = "import datetime\n{'result': 1}, float('nan'), datetime.date(2026, 1, 2), {3}"
    assert talk.value(code) == "({'result': 1}, nan, datetime.date(2026, 1, 2), {3})"
    assert talk.value("{'result': 5}") == "{'result': 5}"
    assert talk.value("float('inf')") == "inf"
    assert talk.value("None") is None
    assert talk.value("'a' * 70_000") == "'" + "a" * 49_999 + "... (20002 more characters)"


def test_what_is_asked_for_values_leaves_the_session_alone(
    talk: Talk, client: wardian.Client
) -> None:
    talk.run("import random\nrandom.seed(0)")
    session = only_session(client)
    before = session.info().cells
    assert talk.value("random.random()") == "0.8444218515250481"
    assert "random" in talk.complete("rand")
    assert talk.value("random.random()") == "0.7579544029403025"
    assert session.info().cells == before + 2
    assert len(client.sessions(limit=100).items) == 1


def test_counts_are_numbers_of_cells(talk: Talk) -> None:
    first, _ = talk.run("def f():\n    raise KeyError('k')")
    count = first["execution_count"]
    reply, outputs = talk.run("f()")
    assert (reply["status"], reply["ename"], reply["evalue"]) == ("error", "KeyError", "'k'")
    assert reply["execution_count"] == count + 1
    shown = "\n".join(outputs[0][1]["traceback"])
    assert (
        f'File "<cell {count + 1}>", line 1' in shown and f'File "<cell {count}>", line 2' in shown
    )
    assert talk.run("")[0]["execution_count"] == count + 2
    assert talk.run("7")[0]["execution_count"] == count + 2


def test_a_silent_cell_publishes_nothing(talk: Talk) -> None:
    reply, outputs = talk.run("quiet = 1\nprint(quiet)\ndisplay(quiet)\nquiet", silent=True)
    assert reply["status"] == "ok" and not outputs
    reply, outputs = talk.run("1 / 0", silent=True)
    assert reply["ename"] == "ZeroDivisionError" and not outputs
    assert talk.value("quiet") == "1"
    talk.run("hidden = 1", store_history=False)
    request = talk.client.history(raw=True, output=True, hist_access_type="tail", n=2)
    sources = [source for _, _, (source, _) in talk.reply(request)["history"]]
    assert "quiet" in sources and not [source for source in sources if "hidden" in source]


def test_expressions_of_a_frontend(talk: Talk) -> None:
    expressions = {"sum": "a + 1", "wrong": "nobody"}
    reply, _ = talk.run("a = 2", user_expressions=expressions)
    assert reply["user_expressions"]["sum"]["data"] == {"text/plain": "3"}
    assert reply["user_expressions"]["wrong"]["ename"] == "NameError"


def test_completion_and_inspection_know_the_state(talk: Talk) -> None:
    talk.run(
        "class Bicycle:\n    _secret = 1\n"
        '    def ride(self, far: int = 3):\n        "Rides."\nb = Bicycle()'
    )
    assert talk.complete("x = b.ri") == ["ride"]
    assert talk.complete("b.") == ["ride"]
    assert talk.complete("b._sec") == ["_secret"]
    assert talk.complete("f(b).ri") == [] == talk.complete("'text")
    found = talk.reply(talk.client.inspect("b.ride(", 7))
    assert found["found"] and "far: int = 3" in found["data"]["text/plain"]
    assert "Rides." in found["data"]["text/plain"]
    assert not talk.reply(talk.client.inspect("nobody"))["found"]
    reply, outputs = talk.run("b.ride?")
    assert "Rides." in reply["payload"][0]["data"]["text/plain"] and not outputs


def test_input_is_refused_by_name(talk: Talk) -> None:
    for code in ("name = input('Your name? ')", "import getpass\ngetpass.getpass()"):
        reply, _ = talk.run(code, allow_stdin=False)
        assert (reply["ename"], reply["evalue"]) == ("StdinNotImplementedError", NO_INPUT)
        assert reply["traceback"][-1] == f"StdinNotImplementedError: {NO_INPUT}"
    # Another end of a file is what it is.
    code = "raise EOFError('the file ended')"
    assert talk.run(code)[0]["ename"] == "EOFError"


ASKS = """
from runtime import tools
print("first")
a = input("Name? ")
b = input()
c = await tools.getpass("Word? ")
[a, b, c]
"""


def test_the_user_is_asked(talk: Talk) -> None:
    asked: list[Message] = []

    def answer(message: Message) -> None:
        asked.append(message["content"])
        talk.client.input("" if len(asked) == 2 else "Ada")

    reply, outputs = talk.run(ASKS, allow_stdin=True, stdin_hook=answer)
    assert reply["status"] == "ok"
    assert asked == [
        {"prompt": "Name? ", "password": False},
        {"prompt": "", "password": False},
        {"prompt": "Word? ", "password": True},
    ]
    assert [kind for kind, _ in outputs] == ["stream", "execute_result"]
    assert outputs[1][1]["data"]["text/plain"] == "['Ada', '', 'Ada']"


def test_the_end_of_the_input_is_an_error_of_the_program(talk: Talk) -> None:
    def end(message: Message) -> None:
        talk.client.input("\x04")

    reply, _ = talk.run("input()", allow_stdin=True, stdin_hook=end)
    assert (reply["ename"], reply["evalue"]) == ("EOFError", "EOF when reading a line")


def test_an_interrupt_ends_a_question(talk: Talk) -> None:
    def interrupt(message: Message) -> None:
        talk.manager.interrupt_kernel()

    reply, outputs = talk.run("asked = 1\ninput()", allow_stdin=True, stdin_hook=interrupt)
    assert reply["status"] == "error"
    assert any("rolled back" in content.get("text", "") for _, content in outputs)
    assert talk.value("'asked' in dir()") == "False"


def run_and_interrupt(talk: Talk, code: str) -> tuple[Message, list[tuple[str, Message]], float]:
    """Runs a cell, and interrupts it when it prints. The number is how many seconds that took."""
    asked: list[float] = []
    outputs: list[tuple[str, Message]] = []

    def interrupt(message: Message) -> None:
        if message["msg_type"] not in ("status", "execute_input"):
            outputs.append((message["msg_type"], message["content"]))
        if message["msg_type"] == "stream" and not asked:
            asked.append(time.monotonic())
            talk.manager.interrupt_kernel()

    reply = talk.client.execute_interactive(code, output_hook=interrupt, timeout=PATIENCE)
    return reply["content"], outputs, time.monotonic() - asked[0]


def test_an_interrupt_keeps_the_state(talk: Talk) -> None:
    code = "import time\nkept = 0\nprint('begun')\nwhile True:\n    kept += 1\n    time.sleep(0.01)"
    reply, _, seconds = run_and_interrupt(talk, code)
    assert reply["ename"] == "KeyboardInterrupt" and seconds < 20
    assert talk.value("kept > 0") == "True"


def test_a_cell_that_does_not_stop_is_rolled_back(talk: Talk) -> None:
    talk.run("z = 1")
    code = (
        "z = 2\nprint('begun')\nwhile True:\n    try:\n        while True: pass\n    except: pass"
    )
    reply, outputs, _ = run_and_interrupt(talk, code)
    assert reply["status"] == "error"
    told = "".join(
        content["text"]
        for kind, content in outputs
        if kind == "stream" and content["name"] == "stderr"
    )
    assert told.startswith("This cell was rolled back: ") and told.endswith("It left no trace.\n")
    assert talk.value("z") == "1"


def test_an_interrupt_reaches_a_cell_that_has_not_begun(talk: Talk) -> None:
    request = talk.client.execute("import time\ntime.sleep(100)")
    ended: Message | None = None
    while ended is None:
        # The first one may be earlier than the request for the cell. A user would try again, too.
        talk.manager.interrupt_kernel()
        with contextlib.suppress(queue.Empty):
            ended = talk.reply(request, timeout=3)
    assert ended["ename"] == "KeyboardInterrupt"


def test_the_kernel_says_what_it_is(talk: Talk) -> None:
    info = talk.reply(talk.client.kernel_info())
    assert (info["implementation"], info["implementation_version"]) == (
        "wardian",
        wardian.__version__,
    )
    assert info["supported_features"] == []
    assert talk.value("import platform\nplatform.python_version()") == repr(PYTHON_VERSION)


def test_a_restart_begins_anew_and_the_end_closes_the_session(
    kernels: Path, client: wardian.Client
) -> None:
    with kernel() as talk:
        talk.run("x = 1")
        first = only_session(client)
        talk.manager.restart_kernel()
        talk.client.wait_for_ready(timeout=PATIENCE)
        with pytest.raises(errors.SessionNotFound):
            first.info()
        assert talk.run("x")[0]["ename"] == "NameError"
        second = only_session(client)
        # A cell that runs does not keep the kernel from its end.
        talk.client.execute("import time\ntime.sleep(100)")
        time.sleep(1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 10
    with pytest.raises(errors.SessionNotFound):
        second.info()


def test_a_session_is_kept_and_continued(kernels: Path, client: wardian.Client) -> None:
    with kernel("--WardianKernel.keep=True") as talk:
        talk.run("x = 41")
        session = only_session(client)
    with session, kernel(f"--WardianKernel.session_id={session.id}") as talk:
        assert talk.value("x + 1") == "42"
        talk.run("1 / 0")
        assert session.info().cells == 3
        session.close()
        reply, outputs = talk.run("x")
        assert (
            reply["ename"] == "SessionNotFound" and "Restart the kernel" in reply["traceback"][-1]
        )
        assert [kind for kind, _ in outputs] == ["error"]


def test_a_limit_of_time(kernels: Path) -> None:
    with kernel("--WardianKernel.timeout=0.5") as talk:
        begun = time.monotonic()
        reply, _ = talk.run("import time\ntime.sleep(100)")
        assert reply["status"] == "error" and time.monotonic() - begun < 20


def test_what_keeps_a_session_from_beginning_is_told_in_the_notebook(kernels: Path) -> None:
    with kernel("--WardianKernel.key_file=/no/such/file") as talk:
        reply, _ = talk.run("1")
        assert reply["ename"] == "InvalidSetting" and "/no/such/file" in reply["evalue"]
        assert talk.complete("pri") == []
