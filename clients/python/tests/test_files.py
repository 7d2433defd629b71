"""Files by name, and arguments that JSON does not have."""

from __future__ import annotations

import asyncio
import copy
import datetime
import decimal
import io
import pickle
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import pytest

import wardian
from wardian import errors
from wardian.options import BlobAtPath
from wardian.results import RunFile, RunFiles

LEAVES = """
import pathlib
pathlib.Path("out").mkdir()
pathlib.Path("out/report.csv").write_text("a\\n1\\n")
pathlib.Path("note.txt").write_text("note")
"""


def test_files_are_there_by_name(client: wardian.Client, tmp_path: Path) -> None:
    files = client.run_code(LEAVES).completed().files
    assert "report.csv" in files and "out/report.csv" in files and "other" not in files
    assert files["report.csv"] is files["out/report.csv"] and files["note.txt"] in files
    assert files["report.csv"].bytes() == b"a\n1\n"
    # To a folder that is there under its own name, otherwise as the name says.
    assert files["report.csv"].save(tmp_path) == tmp_path / "report.csv"
    assert files["report.csv"].save(tmp_path / "mine.csv").read_text() == "a\n1\n"
    saved = files.save_all(tmp_path / "new" / "folder")
    places = {str(path.relative_to(tmp_path)) for path in saved}
    assert places == {"new/folder/out/report.csv", "new/folder/note.txt"}
    assert (tmp_path / "new/folder/note.txt").read_text() == "note"
    with pytest.raises(errors.NoSuchFile, match=r"a file `report\.xlsx`: its files are .*note"):
        _ = files["report.xlsx"]


def test_all_ways_to_a_result_give_its_files(client: wardian.Client) -> None:
    with client.stream_code(LEAVES) as run:
        assert run.wait().files["note.txt"].bytes() == b"note"
    started = client.start_code(LEAVES).wait(timeout=300)
    assert started.files["note.txt"].bytes() == b"note"


def test_the_files_of_an_asynchronous_client(
    server: wardian.LocalServer, tmp_path: Path
) -> None:
    async def run() -> None:
        async with wardian.AsyncClient(server.url) as client:
            files = (await client.run_code(LEAVES)).files
            assert await files["note.txt"].bytes_async() == b"note"
            place = await files["note.txt"].save_async(tmp_path)
            assert place.read_text() == "note"
            assert len(await files.save_all_async(tmp_path / "all")) == 2
            with pytest.raises(TypeError, match="save_async"):
                files["note.txt"].save(tmp_path)

    asyncio.run(run())


def test_a_file_that_was_not_kept_says_so(client: wardian.Client, tmp_path: Path) -> None:
    files = client.run_code(LEAVES, keep_files=["*.txt"]).files
    with pytest.raises(errors.FileNotKept, match=r"out/report\.csv was not kept.*keep_files"):
        files["report.csv"].save(tmp_path / "a.csv")
    # It was not asked for, and so it is not lost.
    assert files.save_all(tmp_path) == [tmp_path / "note.txt"]
    with pytest.raises(errors.FileNotKept):
        client.run_code("1", {"file": files["report.csv"]})
    lost = RunFiles([*files, file_named("big.bin", not_kept="it is too large")])
    with pytest.raises(errors.FileNotKept, match=r"1 of 3 files .* big\.bin: it is too large"):
        lost.save_all(tmp_path)
    assert (tmp_path / "note.txt").read_text() == "note"


def file_named(path: str, **members: Any) -> RunFile:
    return RunFile.read({"path": path, "size_bytes": 1, **members})


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "a//b", "a/\0", "..", ""])
def test_a_path_of_a_program_leads_nowhere_else(path: str, tmp_path: Path) -> None:
    files = RunFiles([file_named(path, blob_id="blob:a")])
    with pytest.raises(ValueError, match="cannot be written under this name"):
        files.save_all(tmp_path)


def test_a_link_in_a_folder_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "out").symlink_to(tmp_path)
    files = RunFiles([file_named("out/a", blob_id="blob:a")])
    with pytest.raises(ValueError, match="leads out of the folder"):
        files.save_all(tmp_path / "folder")


def test_names_of_which_there_are_two_are_no_names() -> None:
    files = RunFiles([file_named("a/x.csv"), file_named("b/x.csv")])
    assert files["a/x.csv"] is files[0] and files[:1] == [files[0]]
    with pytest.raises(errors.NoSuchFile, match="more than one file is called `x.csv`"):
        _ = files["x.csv"]


def test_a_result_with_files_can_be_copied(client: wardian.Client) -> None:
    result = client.run_code(LEAVES)
    for made in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert made == result and made.files["note.txt"] == result.files["note.txt"]
        with pytest.raises(TypeError, match="client.blobs"):
            made.files["note.txt"].bytes()


STORED = """
import pandas as pd
from runtime import blobs

def main(args):
    table = pd.read_csv("df.csv")
    labels = pd.read_csv(blobs.open(args["more"][0]["series"]))
    return {
        "df": table.to_dict("list"),
        "same": pd.read_csv(blobs.open(args["df"])).equals(table),
        "series": labels.to_dict("list"),
        "path": open("cities.csv").read(),
        "bytes": list(blobs.read_bytes(args["bytes"])),
        "file": blobs.read_text(args["file"]),
        "blob": blobs.read_text(args["more"][1]),
        "left": blobs.read_text(args["left"]),
    }
"""


def everything(client: wardian.Client, tmp_path: Path) -> tuple[dict[str, Any], Any]:
    path = tmp_path / "cities.csv"
    path.write_text("city\nBern\n")
    series = pandas.Series([2, 1], index=["x", "y"], name="count")
    args = {
        "df": pandas.DataFrame({"a": [1, 2]}),
        "path": path,
        "bytes": b"\x00\xff",
        "file": io.BytesIO(b"file"),
        "more": [{"series": series}, client.blobs.upload("blob")],
        "left": client.run_code(LEAVES).files["note.txt"],
    }
    expected = {
        "df": {"a": [1, 2]},
        "same": True,
        "series": {"index": ["x", "y"], "count": [2, 1]},
        "path": "city\nBern\n",
        "bytes": [0, 255],
        "file": "file",
        "blob": "blob",
        "left": "note",
    }
    return args, expected


def test_what_json_does_not_have_is_stored_and_mounted(
    client: wardian.Client, tmp_path: Path
) -> None:
    args, expected = everything(client, tmp_path)
    result = client.run_code(STORED, args)
    assert result.output == expected, result.error
    # The arguments of the caller stay as they are, and blobs can also be listed.
    listed = client.run_code(STORED, args, input_blobs=[args["more"][1]])
    assert listed.output == expected and isinstance(args["path"], Path)
    with client.stream_code(STORED, args) as run:
        assert run.wait().output == expected
    assert client.start_code(STORED, args).wait(timeout=300).output == expected


def test_a_blob_is_a_file_at_its_path(client: wardian.Client) -> None:
    blob = client.blobs.upload(b"a,b\n1,2\n", name="in.csv")
    code = "def main(args):\n    return open('data/in.csv').read() + open(args['other']).read()"
    other = client.blobs.upload(b"other")
    placed: BlobAtPath = {"blob": blob, "path": "data/in.csv"}
    result = client.run_code(code, {"other": other}, input_blobs=[placed])
    assert result.output == {"result": "a,b\n1,2\nother"}, result.error
    with pytest.raises(errors.InvalidParams, match="working folder"):
        client.run_code("1", input_blobs=[{"blob": blob, "path": "../in.csv"}])


INDEXED = """
import pandas as pd
from runtime import blobs

def main(args):
    return {name: pd.read_csv(blobs.open(blob)).to_dict("list") for name, blob in args.items()}
"""


def test_no_index_of_a_table_is_lost(client: wardian.Client) -> None:
    people = pandas.DataFrame({"city": ["Bern", "Zug"], "n": [134, 31], "m": [1, 2]})
    by_city = people[["city", "n"]].set_index("city")
    tables = {
        "numbered": people[["n"]],
        "named": by_city,
        "levels": people.set_index(["city", "n"]),
        "letters": pandas.DataFrame({"n": [1]}, index=["a"]),
        "filtered": people[people.n < 100][["n"]],
        "later": people[["n"]][1:],
        "taken": pandas.DataFrame({"index": [1]}, index=["a"]),
        "twice": pandas.DataFrame({"n": [1]}, index=pandas.Index(["a"], name="n")),
        "unnamed": pandas.DataFrame({"n": [1]}, index=[["a"], ["b"]]),
        "series": pandas.Series([7], index=pandas.Index(["a"], name="key"), name="value"),
    }
    expected: dict[str, dict[str, list[Any]]] = {
        "numbered": {"n": [134, 31]},
        "named": {"city": ["Bern", "Zug"], "n": [134, 31]},
        "levels": {"city": ["Bern", "Zug"], "n": [134, 31], "m": [1, 2]},
        "letters": {"index": ["a"], "n": [1]},
        "filtered": {"index": [1], "n": [31]},
        "later": {"index": [1], "n": [31]},
        "taken": {"level_0": ["a"], "index": [1]},
        "twice": {"n_index": ["a"], "n": [1]},
        "unnamed": {"level_0": ["a"], "level_1": ["b"], "n": [1]},
        "series": {"key": ["a"], "value": [7]},
    }
    result = client.run_code(INDEXED, tables)
    assert result.output == expected, result.error
    # The caller's table stays as it is.
    assert by_city.index.name == "city" and list(by_city.columns) == ["n"]
    for format in ("csv", "parquet"):
        blob = client.blobs.put_frame(people.set_index("city"), format)
        assert client.blobs.read_frame(blob.blob_id).equals(people)


def test_the_asynchronous_client_stores_arguments(
    client: wardian.Client, server: wardian.LocalServer, tmp_path: Path
) -> None:
    args, expected = everything(client, tmp_path)

    async def run() -> Any:
        async with wardian.AsyncClient(server.url) as asynchronous:
            return (await asynchronous.run_code(STORED, args)).output

    assert asyncio.run(run()) == expected


@dataclass
class Point:
    x: int


NO_JSON: dict[str, tuple[Any, str]] = {
    "date": (datetime.date(2026, 1, 1), "isoformat"),
    "decimal": (decimal.Decimal("1.5"), "`str` or `float`"),
    "uuid": (uuid.UUID(int=1), "`str`"),
    "set": ({1}, "a list"),
    "array": (pandas.Series([1, 2]).to_numpy(), "tolist"),
    "scalar": (pandas.Series([1]).max(), "item"),
    "dataclass": (Point(1), "asdict"),
    "text": (io.StringIO("a"), "getvalue"),
    "object": (object(), "stored as a blob"),
}


@pytest.mark.parametrize(("value", "advice"), NO_JSON.values(), ids=NO_JSON)
def test_what_cannot_be_sent_says_what_to_give(
    client: wardian.Client, value: Any, advice: str
) -> None:
    for call in (client.run_code, client.start_code, client.stream_code):
        with pytest.raises(errors.InvalidParams) as refused:
            call("1", {"rows": [{"x": value}]})
        assert "`args.rows[0].x` is a" in str(refused.value) and advice in str(refused.value)
        assert refused.value.parameter == "args"
    with pytest.raises(errors.InvalidParams):
        client.run_code("1", {("a", 1): 1})  # pyright: ignore[reportArgumentType]


def test_an_argument_that_holds_itself_is_refused(client: wardian.Client) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(errors.InvalidParams, match="too deeply"):
        client.run_code("1", {"x": loop})


def test_names_of_blobs(client: wardian.Client, tmp_path: Path) -> None:
    made = client.create_blob("a\n1\n", "text/csv", name="made.csv")
    sent = client.blobs.upload(b"b", name="sent.bin")
    assert (made.name, sent.name) == ("made.csv", "sent.bin")
    assert client.read_blob(made).name == "made.csv"
    names = {blob.blob_id: blob.name for blob in client.blobs.list(limit=1_000).items}
    assert names[sent.blob_id] == "sent.bin"
    result = client.run_code("open('made.csv').read() + open('sent.bin').read()", {"x": [made, sent]})
    assert result.output == {"result": "a\n1\nb"}
