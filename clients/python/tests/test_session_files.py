"""What a client sends for the files of a session, and how it reads the answers."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import anyio
import pytest
from scripted import Answer, ScriptedServer, Seen, refusal

import wardian
from wardian import errors

ID = "ses_" + "a" * 26
FILES = f"/v1/sessions/{ID}/files"
SESSION: dict[str, Any] = {
    "id": ID,
    "label": None,
    "created_ms": 1,
    "used_ms": 1,
    "expires_ms": 1,
    "cells": 1,
    "checkpoint": "c1-9f2a61b0",
    "is_warm": True,
    "guest_memory_bytes": None,
    "parked_own_bytes": 0,
    "parked_shared_bytes": 0,
    "forked_from": None,
    "run_id": None,
}


def made() -> Answer:
    return Answer(201, SESSION)


def file(path: str, kind: str = "file") -> dict[str, Any]:
    return {"path": path, "kind": kind, "size_bytes": 3, "modified_ms": 5}


def changed(path: str, **members: Any) -> Answer:
    session = {"id": ID, "cell": 2, "checkpoint": "c2-00112233", "state": "kept"}
    return Answer(201, {"path": path, "replaced": False, "session": session, **members})


def test_lists_are_read_page_by_page() -> None:
    pages = [
        Answer(
            body={
                "files": [file("a", "folder"), file("a/b c")],
                "next_cursor": "a/b c",
                "unlisted": 0,
                "checkpoint": "c1-9f2a61b0",
            }
        ),
        Answer(
            body={"files": [file("d")], "next_cursor": None, "unlisted": 0, "checkpoint": "c9-1"}
        ),
    ]
    with ScriptedServer([made(), *pages]) as server:
        with wardian.Client(server.url) as client:
            session = client.session(keep=True)
            found = session.files.list("/workspace/data/", wait_ms=20)
            assert [one.path for one in found] == ["a", "a/b c", "d"]
            assert (found[0].kind, found[1].size_bytes, found[1].modified_ms) == ("folder", 3, 5)
            assert session.checkpoint == "c9-1"
        _, first, second = server.seen
    assert first.path == f"{FILES}?folder=data&limit=1000&wait_ms=20"
    assert second.path == f"{FILES}?folder=data&cursor=a%2Fb+c&limit=1000&wait_ms=20"


def test_content_is_read_and_written(tmp_path: Path) -> None:
    source = tmp_path / "in.bin"
    source.write_bytes(b"from a file")
    content = Answer(content=b"content", headers={"content-type": "text/csv"})

    def answer(seen: Seen) -> Answer:
        if seen.method == "POST":
            return made()
        return content if seen.method == "GET" else changed("in", size_bytes=4)

    with ScriptedServer(answer) as server, wardian.Client(server.url) as client:
        session = client.session(keep=True)
        files = session.files
        assert files.read("/workspace/out/a b.csv") == b"content"
        assert files.read_text("é", wait_ms=50) == "content"
        assert files.download("x", tmp_path / "out").read_bytes() == b"content"
        change = files.write("in", "täxt", if_checkpoint=session.checkpoint, wait_ms=5)
        assert (change.path, change.size_bytes, change.replaced) == ("in", 4, False)
        assert (change.cell, session.checkpoint) == (2, "c2-00112233")
        files.write("b", bytearray(b"bytes"))
        files.write("c/d", source)
        opened = io.BytesIO(b"skipped, and sent")
        opened.seek(9)
        files.write("e", opened)
        assert opened.tell() > 0
        with pytest.raises(TypeError, match="a file cannot be made from int"):
            files.write("f", 7)  # pyright: ignore[reportArgumentType]
        for wrong in ["", "a//b", "..", "a/../b"]:
            with pytest.raises(errors.InvalidParams):
                files.read(wrong)
    paths = [(seen.method, seen.path) for seen in server.seen[1:4]]
    assert paths == [
        ("GET", f"{FILES}/out/a%20b.csv"),
        ("GET", f"{FILES}/%C3%A9?wait_ms=50"),
        ("GET", f"{FILES}/x"),
    ]
    written = [(seen.path, bytes(seen.body)) for seen in server.seen[4:]]
    assert written == [
        (f"{FILES}/in?if_checkpoint=c1-9f2a61b0&wait_ms=5", "täxt".encode()),
        (f"{FILES}/b", b"bytes"),
        (f"{FILES}/c/d", b"from a file"),
        (f"{FILES}/e", b"and sent"),
    ]
    assert all("transfer-encoding" not in seen.headers for seen in server.seen)


def test_a_file_is_deleted_and_may_be_missing() -> None:
    answers = [made(), changed("a"), refusal(404, "file_not_found")]
    with ScriptedServer(answers) as server, wardian.Client(server.url) as client:
        session = client.session(keep=True)
        change = session.files.delete("a")
        assert (change.size_bytes, change.checkpoint) == (None, "c2-00112233")
        with pytest.raises(errors.FileNotFound):
            session.files.read("a")
        assert server.seen[1].method == "DELETE"
        assert errors.SkillFileNotFound is errors.FileNotFound


def test_files_of_an_asynchronous_session() -> None:
    async def use(url: str) -> None:
        async with wardian.AsyncClient(url) as client:
            session = await client.session(keep=True)
            change = await session.files.write("a", b"x")
            assert change.checkpoint == session.checkpoint == "c2-00112233"

    with ScriptedServer([made(), changed("a", size_bytes=1)]) as server:
        anyio.run(use, server.url)
