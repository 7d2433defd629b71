"""The files of a session over HTTP: listed, read, written and removed."""

from ...case import expect, expect_equal, shown
from .live import Interpreter, session_case, state_of

FILES = "Files"
OTHER_CHECKPOINT = "c9-0011223344556677"


def of_files(live, verb, more="", body=b"", headers=None):
    """The answer to a request about files of a session."""
    return live.session.send(body, verb, f"/v1/sessions/{live.id}/files{more}", headers or {})


def changed(live, verb, more, status, body=b""):
    """What is said of a change, which must have this status and be kept."""
    reply = of_files(live, verb, more, body)
    expect_equal(reply.status, status, f"the HTTP status of {verb}")
    change = live.session.json_of(reply)
    state_of(change)
    return change


def refused(live, reply, status, kind):
    """Checks that an answer is this refusal."""
    expect_equal(reply.status, status, "the HTTP status")
    error = live.session.json_of(reply).get("error") or {}
    expect_equal((error.get("data") or {}).get("kind"), kind, "`error.data.kind`")


@session_case("files-write", FILES, "`PUT` writes a file and makes the folders that lead to it.")
def write(session):
    """A file that is written is there in the next cell, and its write is a checkpoint of its own."""
    with Interpreter(session, "x = 1") as live:
        change = changed(live, "PUT", "/data/in.txt", 201, b"one")
        told = [change.get(member) for member in ("path", "size_bytes", "replaced")]
        expect_equal(told, ["data/in.txt", 3, False], "`path`, `size_bytes` and `replaced`")
        checkpoint = state_of(change).get("checkpoint")
        expect_equal(live.checkpoint(), checkpoint, "the checkpoint of the session")
        expect_equal(live.value("open('data/in.txt').read()"), "one", "the content in a cell")
        change = changed(live, "PUT", "/data/in.txt", 200, b"two")
        expect_equal(change.get("replaced"), True, "`replaced`")
        expect_equal(live.value("open('/workspace/data/in.txt').read()"), "two", "the content in a cell")
        expect_equal(live.value("x"), 1, "a variable of an earlier cell")


@session_case("files-remove", FILES, "`DELETE` removes a file.")
def remove(session):
    """A file that was removed is there no more, and can be taken back with its checkpoint."""
    with Interpreter(session, "open('a.txt', 'w').write('old')") as live:
        before = live.checkpoint()
        changed(live, "DELETE", "/a.txt", 200)
        refused(live, of_files(live, "GET", "/a.txt"), 404, "file_not_found")
        refused(live, of_files(live, "DELETE", "/a.txt"), 404, "file_not_found")
        live.asked(200, "POST", "/restore", {"checkpoint": before})
        expect_equal(of_files(live, "GET", "/a.txt").body, b"old", "the content")


@session_case("files-read", FILES, "`GET` lists files, or is the content of one, and changes nothing.")
def read(session):
    """Files are listed and read, also in part; the session is as before."""
    with Interpreter(session, "open('b.csv', 'w').write('0123456789')") as live:
        before = live.asked(200, "GET")
        listed = session.json_of(of_files(live, "GET"))
        found = [file for file in listed.get("files", []) if file.get("path") == "b.csv"]
        expect(len(found) == 1, f"the list has the file, got {shown(listed)}")
        expect_equal([found[0].get("kind"), found[0].get("size_bytes")], ["file", 10], "kind and size")
        whole = of_files(live, "GET", "/b.csv")
        expect_equal([whole.status, whole.body.decode()], [200, "0123456789"], "status and content")
        kind = whole.headers.get("content-type", "").partition(";")[0]
        expect_equal(kind, "text/csv", "the content type")
        part = of_files(live, "GET", "/b.csv", headers={"Range": "bytes=2-4"})
        expect_equal([part.status, part.body.decode()], [206, "234"], "status and content of a part")
        tag = whole.headers.get("etag", "")
        known = of_files(live, "GET", "/b.csv", headers={"If-None-Match": tag})
        expect_equal(known.status, 304, "the HTTP status for content that is known")
        after = live.asked(200, "GET")
        for member in ("cells", "checkpoint"):
            expect_equal(after.get(member), before.get(member), f"`{member}`")


@session_case("files-conditions", FILES, "A change is refused unless the session is at `if_checkpoint`.")
def conditions(session):
    """A change is refused where its checkpoint is not that of the session, and changes nothing."""
    with Interpreter(session, "open('a.txt', 'w').write('old')") as live:
        at = live.checkpoint()
        for verb, body in (("PUT", b"no"), ("DELETE", b"")):
            reply = of_files(live, verb, f"/a.txt?if_checkpoint={OTHER_CHECKPOINT}", body)
            refused(live, reply, 409, "session_conflict")
        expect_equal(live.checkpoint(), at, "the checkpoint of the session")
        expect_equal(of_files(live, "GET", "/a.txt").body, b"old", "the content")
        changed(live, "PUT", f"/a.txt?if_checkpoint={at}", 200, b"new")
