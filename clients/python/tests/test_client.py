"""The client against a real server."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pandas
import pytest
from conftest import REPOSITORY

import wardian
from wardian import errors
from wardian._events import Event, EventReader

TABLE = "city,people\nBern,134\nBasel,178\n"


def test_a_skill_is_called_like_a_function(client: wardian.Client, tmp_path: Path) -> None:
    result = client.skills["hello.world"](name="Ada")
    assert result.output == {"summary": "Hello, Ada!", "greeting": "Hello, Ada!"}
    profile = client.skills["data.csv.profile"]
    blob = client.blobs.upload(TABLE, kind="text/csv")
    file = tmp_path / "table.csv"
    file.write_text(TABLE)
    frame = pandas.DataFrame({"city": ["Bern", "Basel"], "people": [134, 178]})
    summaries = {profile(csv_blob=table).summary for table in (blob, file, frame)}
    assert summaries == {"2 rows, 2 columns (1 text, 1 integer); no missing values."}


def test_skills_are_no_list(client: wardian.Client, server: wardian.LocalServer) -> None:
    for skills in (client.skills, wardian.AsyncClient(server.url).skills):
        found: Any = skills
        with pytest.raises(TypeError, match="not iterable"):
            iter(found)
        with pytest.raises(TypeError):
            _ = "hello.world" in found
        with pytest.raises(TypeError, match="a str, not int"):
            found[0]


def test_a_skill_has_options_a_description_and_files(client: wardian.Client) -> None:
    skill = client.skills["hello.world"].using(version="0.1.0", timeout_ms=60_000)
    assert skill(name="Ada").summary == "Hello, Ada!"
    assert skill.describe().manifest["version"] == "0.1.0"
    assert b"def main" in skill.read_file("code/main.py").data
    with pytest.raises(errors.VersionNotFound):
        client.skills["hello.world"].using(version="9.9.9")()
    with pytest.raises(errors.InvalidParams) as refused:
        client.skills["data.csv.profile"]()
    assert refused.value.parameter == "args" and "csv_blob" in refused.value.message


def test_a_failed_run_is_a_result_and_an_error_only_if_asked(client: wardian.Client) -> None:
    result = client.run_code("1 / 0")
    assert not result.is_completed and result.error is not None
    assert result.error.type == "ZeroDivisionError" and "line 1" in (result.error.traceback or "")
    with pytest.raises(wardian.RunFailed, match="division by zero") as failed:
        result.completed()
    assert failed.value.result is result


def test_all_skills_come_page_by_page(client: wardian.Client) -> None:
    names = [skill.name for skill in client.iter_skills()]
    assert names == sorted(names) and "hello.world" in names
    first = client.list_skills(limit=2)
    rest = client.list_skills(limit=500, cursor=first.next_cursor)
    assert [skill.name for skill in first.items + rest.items] == names


def test_output_and_progress_come_while_a_program_runs(client: wardian.Client) -> None:
    code = (
        "from runtime import progress\nprint('a\\x85b\\u2028c')\n"
        "progress(1, 2, 'half')\nprint('end')\n7"
    )
    with client.stream_code(code) as run:
        with pytest.raises(RuntimeError, match="has not ended"):
            _ = run.result
        events = list(run)
    assert run.result.output == {"result": 7}
    printed = "".join(event.text for event in events if isinstance(event, wardian.Output))
    assert printed == "a\x85b\u2028c\nend\n"
    progress = [event for event in events if isinstance(event, wardian.Progress)]
    assert [(one.done, one.total, one.message) for one in progress] == [(1.0, 2.0, "half")]


def test_a_stream_can_be_left_and_stops_the_run(client: wardian.Client) -> None:
    # The output comes before the end, which would be in minutes.
    code = "import time\nprint('go', flush=True)\ntime.sleep(250)"
    with client.stream_code(code, timeout_ms=300_000) as run:
        event = next(iter(run))
        assert isinstance(event, wardian.Output) and event.text == "go\n"
    for _ in range(1_200):
        if not client.runs.active():
            break
        time.sleep(0.05)
    assert client.runs.active() == []


def test_a_repeated_call_streams_nothing_and_has_the_first_result(client: wardian.Client) -> None:
    key = wardian.new_key()
    first = client.run_code("print('once')\n1", idempotency_key=key)
    with client.stream_code("print('once')\n1", idempotency_key=key) as run:
        assert run.wait() == first


def test_a_run_in_the_background(client: wardian.Client) -> None:
    run = client.start_code(
        "from runtime import progress\nprint('hi')\nprogress(1, 4)\n{'rows': 12}"
    )
    result = client.runs.of(run.run_id).wait(timeout=300)
    assert result.output == {"rows": 12}
    assert run.log() == "hi\n"
    record = run.record()
    assert (record.status, record.outcome, record.kind) == ("ended", "completed", "run_code")
    assert record.result == result
    listed = client.runs.list(limit=1, outcome="completed")
    assert listed.items[0].run_id == run.run_id


def test_a_run_in_the_background_is_cancelled(client: wardian.Client) -> None:
    run = client.start_code("import time\ntime.sleep(250)", timeout_ms=300_000)
    with pytest.raises(errors.RunNotEnded) as early:
        run.wait(timeout=0.2)
    assert early.value.record.detached and early.value.record.status in ("queued", "running")
    assert run.cancel()["run_id"] == run.run_id
    result = run.wait(timeout=300)
    assert result.error is not None and result.error.type == "Cancelled"
    with pytest.raises(errors.RunNotFound):
        client.runs.get("run_" + "0" * 32)


def test_a_skill_in_the_background_has_its_name_in_the_record(client: wardian.Client) -> None:
    run = client.skills["hello.world"].start(name="Ada")
    assert run.wait(timeout=300).summary == "Hello, Ada!"
    record = run.record()
    assert (record.skill, record.version) == ("hello.world", "0.1.0")


def test_blobs_from_and_to_files(client: wardian.Client, tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    source, target = tmp_path / "a.bin", tmp_path / "b.bin"
    source.write_bytes(content)
    blob = client.blobs.upload(source)
    assert blob.size_bytes == len(content)
    target.write_text("old")
    assert client.blobs.download(blob, target).read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.bin", "b.bin"]
    assert client.blobs.read(blob) == content
    described = client.blobs.describe(blob)
    assert (described.size_bytes, described.kind) == (len(content), "application/octet-stream")
    assert client.blobs.verify(blob)
    pieces = [b"one, ", b"two"]
    streamed = client.blobs.upload(lambda: iter(pieces), kind="text/plain")
    assert client.blobs.read_text(streamed) == "one, two"
    listed = {found.blob_id for found in client.blobs.list(limit=1_000).items}
    assert {blob.blob_id, streamed.blob_id} <= listed
    client.blobs.delete(blob)
    with pytest.raises(errors.BlobNotFound):
        client.blobs.read(blob)


def test_a_blob_that_is_missing_is_not_described(client: wardian.Client) -> None:
    missing = "blob:" + "a" * 52
    with pytest.raises(errors.BlobNotFound, match=missing) as refused:
        client.blobs.describe(missing)
    assert refused.value.request_id is not None


def test_ids_lead_nowhere_else(client: wardian.Client) -> None:
    run = client.start_code("import time\ntime.sleep(250)", timeout_ms=300_000)
    with pytest.raises(errors.BlobNotFound):
        client.blobs.read("../../v1/keys")
    with pytest.raises(errors.BlobNotFound):
        client.blobs.verify(f"../runs/{run.run_id}/cancel?x=")
    assert run.record().status != "ended"
    run.cancel()


def test_all_forms_of_bytes_are_uploaded(client: wardian.Client, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(TABLE)
    content = TABLE.encode()
    with file.open("rb") as opened:
        stored = client.blobs.upload(opened)
        # The same file can be read once more, from where it is.
        opened.seek(5)
        rest = client.blobs.upload(opened)
    assert client.blobs.describe(stored).kind == "text/csv"
    assert client.blobs.read(rest) == content[5:]
    for made in (bytearray(content), memoryview(content), io.BytesIO(content)):
        assert client.blobs.read(client.blobs.upload(made)) == content
    assert client.blobs.upload(TABLE).kind == "text/plain"


def test_an_open_file_is_uploaded_by_the_asynchronous_client(server: wardian.LocalServer) -> None:
    async def run() -> None:
        async with wardian.AsyncClient(server.url) as client:
            blob = await client.blobs.upload(io.BytesIO(b"bytes"))
            assert await client.blobs.read(blob) == b"bytes"

    anyio.run(run)


def test_what_cannot_be_read_twice_is_not_uploaded(client: wardian.Client) -> None:
    once: list[Any] = [iter([b"a"]), io.StringIO("a"), None]
    for content in once:
        with pytest.raises(TypeError, match="a function that returns new pieces"):
            client.blobs.upload(content)
    for kind in ("a\r\n", "é/x"):
        with pytest.raises(errors.InvalidParams) as refused:
            client.blobs.upload(b"a", kind=kind)
        assert refused.value.parameter == "kind"


def test_a_file_whose_name_is_no_text_is_uploaded(client: wardian.Client, tmp_path: Path) -> None:
    file = tmp_path / "\udcff.csv"
    file.write_text(TABLE)
    assert client.blobs.describe(client.blobs.upload(file)).kind == "text/csv"


def test_a_download_has_the_rights_of_its_file(client: wardian.Client, tmp_path: Path) -> None:
    blob = client.blobs.upload(b"a")
    new, plain, private = (tmp_path / name for name in ("new", "plain", "private"))
    plain.touch()
    private.touch()
    private.chmod(0o640)
    for path in (new, private):
        client.blobs.download(blob, path)
    assert new.stat().st_mode == plain.stat().st_mode
    assert private.stat().st_mode & 0o777 == 0o640


def test_a_download_that_fails_leaves_the_file(client: wardian.Client, tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    target.write_text("old")
    with pytest.raises(errors.BlobNotFound):
        client.blobs.download("blob:" + "a" * 52, target)
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables(client: wardian.Client, kind: str) -> None:
    frame = pandas.DataFrame({"city": ["Bern", "Zürich"], "people": [134, 448]})
    blob = client.blobs.put_frame(frame, "csv" if kind == "csv" else "parquet")
    pandas.testing.assert_frame_equal(client.blobs.read_frame(blob), frame)


def test_a_table_has_one_of_two_formats(client: wardian.Client) -> None:
    unknown: Any = "json"
    with pytest.raises(ValueError, match="csv and parquet"):
        client.blobs.put_frame(pandas.DataFrame({"a": [1]}), unknown)
    with pytest.raises(ValueError, match="csv and parquet"):
        client.blobs.read_frame(client.blobs.upload("a\n1\n"), unknown)


def test_a_run_is_not_detached_by_an_option(client: wardian.Client) -> None:
    options: Any = {"detach": True}
    for call in (client.run_code, client.stream_code, client.execute_skill, client.stream_skill):
        with pytest.raises(TypeError, match="use `start_code` or `start_skill`"):
            call("hello.world", **options)


def test_bytes_in_one_call(client: wardian.Client) -> None:
    blob = client.create_blob(b"\x00\xff", "application/octet-stream")
    assert client.read_blob(blob).data == b"\x00\xff"
    # A text is a text, whatever its kind.
    assert client.read_blob(client.create_blob("main", "x/y")).data == b"main"


def test_values_that_json_does_not_have_are_refused_before_they_are_sent(
    client: wardian.Client,
) -> None:
    deep: list[Any] = []
    for _ in range(900):
        deep = [deep]
    for value in (float("nan"), "\ud800", deep):
        with pytest.raises(errors.InvalidParams) as refused:
            client.run_code("1", {"x": value})
        assert isinstance(refused.value, ValueError)
        with pytest.raises(errors.NotJson):
            client.stream_code("1", {"x": value})


def test_the_asynchronous_client(server: wardian.LocalServer, tmp_path: Path) -> None:
    async def run() -> None:
        async with wardian.AsyncClient(server.url) as client:
            file = tmp_path / "table.csv"
            file.write_text(TABLE)
            profile = await client.skills["data.csv.profile"](csv_blob=file)
            assert profile.summary.startswith("2 rows")
            names = [skill.name async for skill in client.iter_skills("hello")]
            assert names == ["hello.world"]
            started = await client.start_code("1")
            assert (await started.wait(timeout=300)).output == {"result": 1}
            blob = await client.blobs.upload(file)
            async with client.blobs.stream(blob) as pieces:
                assert b"".join([piece async for piece in pieces]) == TABLE.encode()
            await client.blobs.download(blob, tmp_path / "copy.csv")
            assert (tmp_path / "copy.csv").read_text() == TABLE
            runs: list[wardian.RunResult] = []

            async def one(number: int) -> None:
                runs.append(await client.run_code("args['n']", {"n": number}))

            async with anyio.create_task_group() as tasks:
                for number in range(4):
                    tasks.start_soon(one, number)
            assert sorted(str(found.output) for found in runs) == [
                f"{{'result': {number}}}" for number in range(4)
            ]

    anyio.run(run)


def test_a_local_server_ends_with_its_client() -> None:
    with wardian.local(settings={"limits.timeout": "1 s"}) as client:
        result = client.run_code("while True: pass")
        assert result.error is not None and result.error.type == "Timeout"
        url = client.url
    retry = wardian.RetryPolicy(attempts=1)
    with wardian.Client(url, retry=retry) as client, pytest.raises(wardian.ConnectionFailed):
        client.version()


def test_one_folder_of_skills_is_a_text_or_a_path(tmp_path: Path) -> None:
    told = tmp_path / "told"
    fake = tmp_path / "wardian"
    fake.write_text(f'#!/bin/sh\necho "$@" > {told}\necho "serving on http://127.0.0.1:1"\n')
    fake.chmod(0o755)
    for folder in ("/a/b", Path("/a/b"), ["/a/b"]):
        wardian.local(binary=fake, skills=folder).close()
        assert told.read_text().count("--skills") == 1 and "--skills /a/b" in told.read_text()


def test_an_asynchronous_local_server() -> None:
    async def run() -> None:
        async with await wardian.local_async(skills=[REPOSITORY / "skills"]) as client:
            assert (await client.version())["name"] == "wardian"

    anyio.run(run)


PARENT = """
import sys, time, wardian
server = wardian.LocalServer()
print(server.process_id, flush=True)
time.sleep(600)
"""


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_local_server_ends_with_a_program_that_is_killed() -> None:
    source = REPOSITORY / "clients" / "python" / "src"
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(source)!r})\n{PARENT}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline())
        assert is_running(server)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    for _ in range(2_400):
        if not is_running(server):
            return
        time.sleep(0.05)
    raise AssertionError("the server goes on")


def test_a_program_that_is_no_server_is_an_error_with_its_words(tmp_path: Path) -> None:
    fake = tmp_path / "wardian"
    fake.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 2\n")
    fake.chmod(0o755)
    with pytest.raises(errors.LocalServerError, match="no such option"):
        wardian.local(binary=fake)
    with pytest.raises(errors.LocalServerError, match="is not a program"):
        wardian.local(binary=tmp_path / "missing")


SLOW_START = """#!/bin/sh
echo '2026-11-22T21:20:50.8Z  INFO listening on http://127.0.0.1:1' >&2
echo '{"level":"INFO"}' >&2
echo 'compiling the engine (once; usually about 59 s) ...' >&2
sleep 0.7
printf 'compiled the eng' >&2
sleep 0.7
echo 'ine in 59 s' >&2
echo 'serving on http://127.0.0.1:1'
"""


def test_the_first_start_tells_what_it_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fake = tmp_path / "wardian"
    fake.write_text(SLOW_START)
    fake.chmod(0o755)
    with wardian.LocalServer(binary=fake) as server:
        assert server.url == "http://127.0.0.1:1"
    told = [record.getMessage() for record in caplog.records if record.name == "wardian"]
    assert told == [
        "compiling the engine (once; usually about 59 s) ...",
        "compiled the engine in 59 s",
    ]


def events_of(pieces: list[bytes]) -> Iterator[Event]:
    reader = EventReader()
    for piece in pieces:
        yield from reader.feed(piece)


def test_events_are_found_however_they_are_cut() -> None:
    stream = (
        ": the program runs\n\nevent: output\ndata: {\"text\": \"a\u2028\x85\"}\n\n"
        "data: x\r\ndata:y\r\n\r\nevent: none\n\n"
    ).encode()
    expected = [Event("output", '{"text": "a\u2028\x85"}'), Event("message", "x\ny")]
    assert list(events_of([stream])) == expected
    assert list(events_of([stream[at : at + 1] for at in range(len(stream))])) == expected
