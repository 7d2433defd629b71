"""Notebooks of different kinds of work give what Jupyter's own kernel gives.

`scripts/record-notebooks` has executed them with native CPython and the same versions of packages.
"""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from talk import PATIENCE, TRANSPORT
from traitlets.config import Config

NOTEBOOKS = sorted(Path(__file__).with_name("notebooks").glob("*.ipynb"))

Output = dict[str, Any]


def pixels_of(png: str) -> tuple[bytes, bytes]:
    """The header and the uncompressed rows of a picture: two libraries may compress them differently."""
    content = base64.b64decode(png)
    rows, at = b"", 8
    while at < len(content):
        size = int.from_bytes(content[at : at + 4], "big")
        if content[at + 4 : at + 8] == b"IDAT":
            rows += content[at + 8 : at + 8 + size]
        at += 12 + size
    return content[16:29], zlib.decompress(rows)


def comparable(cell: Any) -> tuple[dict[str, str], list[Output]]:
    """The texts of the streams of a cell, and its other outputs without addresses of objects. Where texts
    stand between objects is not compared, because a session displays objects at the end of a cell."""
    streams: dict[str, str] = {}
    others: list[Output] = []
    for output in cell.get("outputs", []):
        if output["output_type"] == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"]
        elif output["output_type"] == "error":
            message = re.sub("0x[0-9a-f]+", "0x", output["evalue"])
            others.append({"error": output["ename"], "message": message})
        else:
            data: Output = dict(output["data"])
            if "image/png" in data:
                data["image/png"] = pixels_of(data["image/png"])
                data["text/plain"] = re.sub(" at 0x[0-9A-F]+", "", data["text/plain"])
            others.append({"type": output["output_type"], "data": data})
    return streams, others


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_a_notebook_gives_what_it_gives_natively(path: Path) -> None:
    read: Any = nbformat.read  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    notebook = read(path, as_version=4)
    expected = [comparable(cell) for cell in notebook.cells]
    config = Config(KernelManager={"transport": TRANSPORT})
    NotebookClient(notebook, config=config, kernel_name="wardian", timeout=PATIENCE).execute()
    nbformat.validate(notebook)
    for cell, outputs in zip(notebook.cells, expected, strict=True):
        assert comparable(cell) == outputs, cell.source


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 9
