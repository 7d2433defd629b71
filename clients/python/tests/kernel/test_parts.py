"""The parts of the kernel, without Jupyter and without a session."""

from __future__ import annotations

import base64
import importlib.util
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, ScriptedServer, Seen, refusal, result

from wardian import errors
from wardian._wire import JsonObject
from wardian.jupyter import __main__ as command
from wardian.jupyter import asides, syntax
from wardian.jupyter.bundles import Bundle, bundle_of, json_text, place_of_value
from wardian.jupyter.history import History, as_reply
from wardian.jupyter.prints import SIZE_MAX, Prints
from wardian.jupyter.remote import Remote, Settings
from wardian.jupyter.syntax import Name
from wardian.results import Display, DisplayPart, RunResult


@pytest.mark.parametrize(
    ("code", "status", "indent"),
    [
        ("x = 1", "complete", ""),
        ("", "complete", ""),
        ("for x in y:", "incomplete", "    "),
        ("if x:\n    if y:", "incomplete", "        "),
        ("if x:\n    y", "incomplete", "    "),
        ("if x:\n    y\n", "complete", ""),
        ("f(1,", "incomplete", ""),
        ("async with x as y: await z", "complete", ""),
        ("x = )", "invalid", ""),
        ("(" * 500, "invalid", ""),
        ("1 is 1", "complete", ""),
        ("!ls", "complete", ""),
        ("%%timeit\nx", "incomplete", ""),
    ],
)
def test_what_a_prompt_does_with_a_text(code: str, status: str, indent: str) -> None:
    assert syntax.completeness(code) == (status, indent)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("pri", Name("", "pri")),
        ("x = table.col", Name("table", "col")),
        ("a.b.", Name("a.b", "")),
        ("größe.ne", Name("größe", "ne")),
        ("f(x).y", None),
        ("x[0].y", None),
        ("1.5", None),
        ("f(", None),
        ("", None),
    ],
)
def test_the_name_that_is_typed(code: str, name: Name | None) -> None:
    assert syntax.typed_name(code, len(code)) == name


@pytest.mark.parametrize(
    ("code", "cursor", "name"),
    [
        ("zip", 3, "zip"),
        ("a = np.mean(x)", 8, "np.mean"),
        ("open('file', ", 13, "open"),
        ("f(g(1), ", 8, "f"),
        ("f(g(1, ", 7, "g"),
        ("f(x).y", 6, None),
        ("12", 1, None),
    ],
)
def test_the_name_at_the_cursor(code: str, cursor: int, name: str | None) -> None:
    assert syntax.name_at(code, cursor) == name


def test_cells_that_ask_for_help() -> None:
    assert [syntax.asked_name(code) for code in ("zip?", "?a.b", "x??\n", "a = 1", "x? y")] == [
        "zip",
        "a.b",
        "x",
        None,
        None,
    ]


def parts(**forms: str | bytes) -> tuple[Display, dict[str, bytes]]:
    """A displayed object, and the blobs that it refers to."""
    display: Display = {}
    blobs: dict[str, bytes] = {}
    for kind, content in forms.items():
        name = kind.replace("__", "+").replace("_", "/")
        if isinstance(content, str):
            display[name] = DisplayPart.read({"text": content})
        else:
            blobs[f"blob:{kind}"] = content
            display[name] = DisplayPart.read({"blob": f"blob:{kind}", "size": len(content)})
    return display, blobs


def test_forms_become_what_jupyter_expects() -> None:
    display, blobs = parts(
        text_plain="p",
        text_html="ä".encode(),
        image_png=b"\x89PNG",
        image_svg__xml="<svg/>",
        application_json="[1]",
        application_geo__json=b'{"a": 1}',
    )
    assert bundle_of(display, blobs.__getitem__) == {
        "text/plain": "p",
        "text/html": "ä",
        "image/png": base64.b64encode(b"\x89PNG").decode(),
        "image/svg+xml": "<svg/>",
        "application/json": [1],
        "application/geo+json": {"a": 1},
    }
    display, blobs = parts(application_json="{")
    assert bundle_of(display, blobs.__getitem__) == {"application/json": "{"}


def test_which_bundle_is_the_value() -> None:
    def rich(text: str) -> Bundle:
        return {"text/plain": text, "text/html": "h"}

    figure = {"text/plain": "<Figure>", "image/png": "p"}
    assert place_of_value([rich("a"), rich("a"), figure], "a") == 1
    assert place_of_value([rich("a"), figure], "b") is None
    assert place_of_value([{"text/plain": "a"}], "a") is None
    assert place_of_value([rich("a"), {"text/plain": "b"}], None) == 0
    long = "a" * asides.TEXT_MAX
    assert place_of_value([rich(long + "bc")], long + "... (2 more characters)") == 0
    outputs: list[JsonObject | None] = [{"result": "x"}, {"a": [1]}, None]
    assert [json_text(output) for output in outputs] == ["'x'", "{'a': [1]}", "None"]


def test_history() -> None:
    history = History()
    for number, source in enumerate(["a = 1", "b", "a = 1", "a = 2"], 1):
        history.add(number, source, None)
    assert as_reply(history.tail(1), with_values=False)["history"] == [(0, 4, "a = 2")]
    assert as_reply(history.range(2, 3), with_values=True)["history"] == [(0, 2, ("b", None))]
    assert [entry.number for entry in history.search("a*", None, unique=True)] == [3, 4]
    assert [entry.number for entry in history.search("a = ?", 2, unique=False)] == [3, 4]
    for number in range(2_000):
        history.add(number, "", None)
    assert len(history.tail(None)) == 1_000


def test_programs_about_the_state_mean_what_they_say() -> None:
    """They run in the session; here, in this process."""

    def value_of(program: str, names: dict[str, Any]) -> Any:
        *statements, last = program.rstrip().rsplit("\n\n", 1) if "\n\n" in program else [program]
        exec("\n\n".join(statements), names)
        return eval(last.strip(), names)

    names: dict[str, Any] = {"table": {"rows": 3}, "_hidden": 1}
    assert value_of(asides.names_for(Name("table", "ke")), names) == ["keys"]
    assert value_of(asides.names_for(Name("", "ta")), names) == ["table"]
    assert value_of(asides.names_for(Name("", "_hid")), names) == ["_hidden"]
    assert "Type: dict\nValue: {'rows': 3}" in value_of(
        asides.about("table", with_source=False), names
    )
    assert value_of(asides.evaluated(["table['rows']", "1/0"]), names) == [
        ["ok", "3"],
        ["error", "ZeroDivisionError", "division by zero"],
    ]


def install(tmp_path: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit code of the installation, and the specification that it wrote."""
    code = command.main(["install", "--prefix", str(tmp_path), *arguments])
    files = list(tmp_path.glob("share/jupyter/kernels/*/kernel.json"))
    return code, json.loads(files[0].read_text()) if files else {}


def test_the_specification_of_the_kernel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "key"
    key.write_text("secret")
    options = ["--url", "https://w.example", "--key-file", str(key), "--keep", "--timeout", "90"]
    code, spec = install(tmp_path, *options, "--name", "far", "--session", "ses_a")
    assert code == 0 and spec["interrupt_mode"] == "message"
    assert spec["display_name"] == "Python (Wardian): far"
    assert spec["argv"] == [
        sys.executable, "-m", "wardian.jupyter", "-f", "{connection_file}",
        "--WardianKernel.url=https://w.example", f"--WardianKernel.key_file={key}",
        "--WardianKernel.session_id=ses_a", "--WardianKernel.keep=True",
        "--WardianKernel.timeout=90.0",
    ]  # fmt: skip
    assert "secret" not in json.dumps(spec)
    assert "installed the kernel `far`" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--url", "ftp://x"], "ftp://x"),
        (["--key-file", "/no/such/file"], "/no/such/file is not a file"),
        (["--name", "not a name"], "not a name"),
    ],
)
def test_what_cannot_be_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert install(tmp_path, *arguments) == (1, {})
    assert "the kernel cannot be installed" in capsys.readouterr().err


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    assert command.main(["install"]) == 1
    assert "pip install 'wardian[jupyter]'" in capsys.readouterr().err


SESSION: dict[str, Any] = {
    "id": "ses_a", "label": None, "created_ms": 1, "used_ms": 1, "expires_ms": 2, "cells": 0,
    "checkpoint": "c1-a", "is_warm": False,
    "guest_memory_bytes": None, "parked_own_bytes": 0, "parked_shared_bytes": 0,
    "forked_from": None, "run_id": None,
}  # fmt: skip


def test_a_session_that_cannot_begin_is_tried_again() -> None:
    answers = [refusal(429, "quota_exceeded"), Answer(201, SESSION)]
    with ScriptedServer(answers) as server:
        remote = Remote(Settings(url=server.url))
        with pytest.raises(errors.QuotaExceeded):
            _ = remote.session
        assert remote.session.id == "ses_a"
        assert [seen.body["label"] for seen in server.seen] == ["jupyter", "jupyter"]
        remote.end()
        assert [(seen.method, seen.path) for seen in server.seen][-1] == (
            "DELETE",
            "/v1/sessions/ses_a",
        )


GONE = Answer(204, content=b"")


def hear(stream: str, text: str) -> None:
    """Nobody listens."""


def refuse(part: RunResult, stop: threading.Event) -> None:
    """Nobody answers."""


def test_a_cell_says_its_limit_and_keeps_no_files() -> None:
    state = {"id": "ses_a", "cell": 1, "checkpoint": None, "state": "rolled_back", "reason": "r"}
    ended = {
        "status": "failed", "run_id": "r", "summary": "", "logs_preview": "",
        "logs_truncated": False, "output_truncated": False, "duration_ms": 1,
        "memory_peak_bytes": 1, "session": state,
    }  # fmt: skip

    def answer(seen: Seen) -> Answer:
        return result(ended) if seen.path == "/rpc" else Answer(201, SESSION)

    with ScriptedServer(answer) as server:
        remote = Remote(Settings(url=server.url, timeout=1.5, keep=True))
        assert not remote.run("x", hear, refuse).is_completed
        params = server.seen[-1].body["params"]
        assert (params["timeout_ms"], params["keep_files"]) == (1_500, False)
        # Nothing runs any more, so there is nothing to interrupt.
        remote.interrupt()
        remote.end()
        assert len(server.seen) == 2


def part(status: str, *requests: str) -> Answer:
    asked = [{"id": one, "kind": "input", "prompt": f"{one}? "} for one in requests]
    ended = {
        "status": status, "run_id": "r", "summary": "", "logs_preview": "", "logs_truncated": False,
        "output_truncated": False, "duration_ms": 1, "memory_peak_bytes": 1, "requests": asked,
    }  # fmt: skip
    return result(ended)


def test_what_a_cell_asks_is_answered_and_goes_on() -> None:
    answers = [Answer(201, SESSION), part("waiting", "a", "b"), part("waiting", "c")]
    with ScriptedServer([*answers, part("completed"), GONE]) as server:
        remote = Remote(Settings(url=server.url))

        def answer(asked: RunResult, stop: threading.Event) -> dict[str, str]:
            return {request.id: f"{request.prompt}!" for request in asked.requests}

        assert remote.run("x", hear, answer).is_completed
        sent = [seen.body["params"].get("answers") for seen in server.seen[1:]]
        assert sent == [
            None,
            [{"id": "a", "output": "a? !"}, {"id": "b", "output": "b? !"}],
            [{"id": "c", "output": "c? !"}],
        ]
        remote.end()


def test_an_interrupt_ends_a_question_and_the_cell() -> None:
    answers = [Answer(201, SESSION), part("waiting", "a"), part("failed"), GONE]
    with ScriptedServer(answers) as server:
        remote = Remote(Settings(url=server.url))

        def wait(asked: RunResult, stop: threading.Event) -> None:
            other = threading.Thread(target=remote.interrupt)
            other.start()
            assert stop.wait(10)
            other.join()

        assert not remote.run("x", hear, wait).is_completed
        assert server.seen[-1].body["params"]["abandon"] is True
        # Nobody is asked any more.
        remote.interrupt()
        remote.end()


def test_a_copy_is_closed_also_if_its_program_fails() -> None:
    def answer(seen: Seen) -> Answer:
        if seen.path.endswith("/fork"):
            return Answer(201, {"forks": [{**SESSION, "id": "ses_b"}]})
        return refusal(429, "quota_exceeded") if seen.path == "/rpc" else Answer(201, SESSION)

    with ScriptedServer(answer) as server:
        remote = Remote(Settings(url=server.url))
        with pytest.raises(errors.QuotaExceeded):
            remote.aside("1")
        requests = [(seen.method, seen.path) for seen in server.seen]
        assert requests[1][1].endswith("/ses_a/fork")
        assert requests[-1] == ("DELETE", "/v1/sessions/ses_b")
        remote.end()


def test_a_key_is_read_from_its_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("wdn_key\n")
    with ScriptedServer([Answer(201, SESSION)]) as server:
        remote = Remote(Settings(url=server.url, key_file=str(key), session_id="ses_a"))
        assert remote.session.id == "ses_a"
        assert server.seen[0].headers["authorization"] == "Bearer wdn_key"
        # A session that was there before is not closed.
        remote.end()
        assert [seen.method for seen in server.seen] == ["GET"]
    with pytest.raises(errors.InvalidSetting, match="key file"):
        _ = Remote(Settings(key_file=str(tmp_path))).client


def test_texts_of_a_stream_are_joined() -> None:
    published: list[tuple[str, str]] = []
    arrived = threading.Event()

    def publish(stream: str, text: str) -> None:
        published.append((stream, text))
        arrived.set()

    with Prints(publish) as prints:
        for stream, text in [("stdout", "a"), ("stdout", "b"), ("stderr", "c"), ("stdout", "d")]:
            prints.add(stream, text)
    assert published == [("stdout", "ab"), ("stderr", "c"), ("stdout", "d")]
    # A text does not wait for the end of the cell, nor does a long one wait at all.
    arrived.clear()
    prints.add("stdout", "e")
    assert arrived.wait(10) and published[3:] == [("stdout", "e")]
    prints.add("stdout", "f" * SIZE_MAX)
    assert len(published) == 5
    prints.flush()
    assert len(published) == 5
