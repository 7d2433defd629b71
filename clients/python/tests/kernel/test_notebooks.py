"""Notebooks that nbclient executes, as nbconvert, papermill and Jupyter Book do."""

from __future__ import annotations

import base64
import struct
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from talk import PATIENCE, TRANSPORT
from traitlets.config import Config

pytestmark = pytest.mark.usefixtures("kernels")


def executed(*sources: str, **options: Any) -> list[list[dict[str, Any]]]:
    """The outputs of each cell of a notebook with these cells."""
    make: Any = nbformat.v4
    notebook = make.new_notebook(cells=[make.new_code_cell(source) for source in sources])
    settings: dict[str, Any] = {"kernel_name": "wardian", "timeout": PATIENCE, **options}
    config = Config(KernelManager={"transport": TRANSPORT})
    client = NotebookClient(notebook, config=config, **settings)
    client.execute()
    nbformat.validate(notebook)
    return [cell.outputs for cell in notebook.cells]


def text_of(outputs: list[dict[str, Any]], stream: str = "stdout") -> str:
    """What a cell wrote to a stream."""
    return "".join(output["text"] for output in outputs if output.get("name") == stream)


def size_of_png(data: str) -> tuple[int, int]:
    """Width and height of a picture in pixels."""
    content = base64.b64decode(data, validate=True)
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


def test_rainfall_as_a_table() -> None:
    loaded, grouped, shown = executed(
        "import io\nimport pandas as pd\n"
        'rain = pd.read_csv(io.StringIO("""town,month,mm\n'
        'Bern,1,61\nBern,2,55\nChur,1,48\nChur,2,43\n"""))\nprint(len(rain), "rows")',
        'rain.groupby("town").mm.sum().to_frame()',
        'display(rain.head(1))\nprint("printed before tables")\nrain.describe()',
    )
    assert text_of(loaded) == "4 rows\n"
    (table,) = grouped
    assert table["output_type"] == "execute_result" and table["execution_count"] == 2
    assert "<td>116</td>" in table["data"]["text/html"]
    assert "Chur   91" in table["data"]["text/plain"]
    assert [output["output_type"] for output in shown] == [
        "stream",
        "display_data",
        "execute_result",
    ]
    assert "<td>Bern</td>" in shown[1]["data"]["text/html"]


def test_a_long_table_comes_from_a_blob() -> None:
    (outputs,) = executed(
        "import pandas as pd\npd.options.display.max_rows = None\n"
        'pd.DataFrame({"n": range(1500), "word": ["rhubarb"] * 1500})'
    )
    (output,) = outputs
    assert output["output_type"] == "execute_result"
    html = output["data"]["text/html"]
    assert len(html) > 65_536 and "<td>1499</td>" in html


def test_tides_as_a_picture() -> None:
    drawn, several, figure = executed(
        "%matplotlib inline\nimport math\nimport matplotlib.pyplot as plt\n"
        "hours = range(25)\nheights = [2 + math.cos(hour / 12.4 * 6.283) for hour in hours]\n"
        'plt.plot(hours, heights)\nplt.title("Tide");',
        'for place in ("Brest", "Cuxhaven"):\n    plt.figure(figsize=(3, 2))\n    plt.title(place)',
        "fig, ax = plt.subplots(figsize=(2, 2))\nax.bar([1, 2], [3, 1])\nfig",
    )
    (picture,) = drawn
    assert picture["output_type"] == "display_data"
    width, height = size_of_png(picture["data"]["image/png"])
    assert width > 400 and height > 300
    assert picture["data"]["text/plain"].startswith("<Figure size 640x480")
    assert len([size_of_png(output["data"]["image/png"]) for output in several]) == 2
    assert [output["output_type"] for output in figure] == ["execute_result"]
    assert "image/png" in figure[0]["data"]


def test_a_flag_in_svg_and_other_forms() -> None:
    square = '<rect width="9" height="9"/>'
    source = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{square}</svg>'
    svg, texts, data = executed(
        f"from IPython.display import HTML, JSON, Latex, Markdown, SVG\nSVG({source!r})",
        'display(Markdown("**bold**"), Latex("$x^2$"), HTML("<i>i</i>"))',
        'JSON({"towns": ["Bern", "Chur"], "rain": 12.5})',
    )
    assert svg[0]["output_type"] == "execute_result" and svg[0]["data"]["image/svg+xml"] == source
    kinds = [set(output["data"]) - {"text/plain"} for output in texts]
    assert kinds == [{"text/markdown"}, {"text/latex"}, {"text/html"}]
    assert data[0]["data"]["application/json"] == {"towns": ["Bern", "Chur"], "rain": 12.5}


def test_a_failure_ends_the_notebook_with_its_traceback() -> None:
    cells = [
        "stock = {'pears': 4}\ndef take(name):\n    return stock[name]",
        "take('plums')",
        "print('no')",
    ]
    with pytest.raises(CellExecutionError) as failed:
        executed(*cells)
    assert failed.value.ename == "KeyError"
    told = str(failed.value)
    assert "return stock[name]" in told and 'File "<cell 2>", line 1' in told


def test_code_that_does_not_parse() -> None:
    (outputs,) = executed("prices = [1, 2\n", allow_errors=True)
    assert outputs[0]["ename"] == "SyntaxError"
    assert "'[' was never closed" in outputs[0]["traceback"][-1]


def test_deliveries_that_are_awaited() -> None:
    begun, gathered = executed(
        "import asyncio\narrived = []\nasync def deliver(parcel, hours):\n"
        "    await asyncio.sleep(hours / 100)\n    arrived.append(parcel)\n    return hours\n"
        'later = asyncio.create_task(deliver("lamp", 1))\n'
        'await deliver("book", 2)',
        'total = sum(await asyncio.gather(deliver("chair", 3), deliver("desk", 1)))\nawait later\n'
        "async with asyncio.timeout(5):\n    print(total, sorted(arrived))",
    )
    assert begun[0]["data"]["text/plain"] == "2"
    assert text_of(gathered) == "4 ['book', 'chair', 'desk', 'lamp']\n"


def test_a_cell_without_end_is_interrupted_and_its_state_stays() -> None:
    counted, after = executed(
        "import time\nminutes = 0\nwhile True:\n    minutes += 1\n    time.sleep(0.01)",
        "print(minutes > 0)",
        timeout=4,
        interrupt_on_timeout=True,
        allow_errors=True,
    )
    assert counted[-1]["ename"] == "KeyboardInterrupt"
    assert text_of(after) == "True\n"


def test_magics() -> None:
    timed, whole, tried, refused = executed(
        "%time squares = [n * n for n in range(100)]",
        "%%time\ntotal = sum(squares)\nprint(total)",
        "%timeit -n 10 -r 2 sum(squares)",
        "!ls",
        allow_errors=True,
    )
    assert "Wall time:" in text_of(timed)
    assert text_of(whole).startswith("328350\nCPU times:")
    assert "2 runs, 10 loops each" in text_of(tried)
    assert refused[0]["ename"] == "UsageError" and "os.listdir" in refused[0]["evalue"]


def test_what_is_printed_arrives_in_its_order_and_stream() -> None:
    (outputs,) = executed(
        'import sys\nfor step in range(3):\n    print("step", step)\n'
        'print("careful", file=sys.stderr)\nprint("näher ☂ 🚲")'
    )
    assert text_of(outputs) == "step 0\nstep 1\nstep 2\nnäher ☂ 🚲\n"
    assert text_of(outputs, "stderr") == "careful\n"


def test_files_and_a_database_stay_from_cell_to_cell() -> None:
    _, _, read = executed(
        'import pathlib, sqlite3\npathlib.Path("orders.csv").write_text("1,anvil\\n2,rope\\n");',
        'shop = sqlite3.connect("shop.db")\nshop.execute("create table orders (id, what)")\n'
        'rows = [line.split(",") for line in open("orders.csv").read().split()]\n'
        'shop.executemany("insert into orders values (?, ?)", rows)\nshop.commit()',
        'print(shop.execute("select what from orders order by id desc").fetchall())',
    )
    assert text_of(read) == "[('rope',), ('anvil',)]\n"
