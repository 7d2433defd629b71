"""The programs of tests/fixtures/reproducible, and what comes out of them.

Needs nothing but Python's standard library.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import served

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures/reproducible"

# Long enough for a busy machine: the end by time is the one thing that does not repeat.
PATIENT_MS = 600_000

# What other runs leave behind in a slot: memory, files, modules, a full heap, an end by force.
DIRTY = [
    "kept = [bytes([n % 251]) * 4096 for n in range(20000)]\nimport decimal, xml.dom.minidom",
    "import os, random\nfor n in range(200): open(f'/workspace/{n}', 'wb').write(os.urandom(5000))",
    "blocks = []\nwhile True: blocks.append(bytearray(16 << 20))",
    "import numpy as np, gc\ngc.disable()\nnp.random.seed(3)\nx = np.full(10**7, np.nan)",
    "import os; os.environ['TZ'] = 'Asia/Tokyo'; os._exit(3)",
]


def programs(only=()):
    """All programs as (name, code, parameters), or those of `only`: names, or names of files."""
    found = []
    for file in sorted(FOLDER.glob("*.py")):
        for part in re.split(r"^#% ", file.read_text(), flags=re.MULTILINE)[1:]:
            title, _, code = part.partition("\n")
            name, _, parameters = title.partition(" ")
            whole = f"{file.stem}/{name}"
            if not only or whole in only or file.stem in only:
                found.append((whole, code, json.loads(parameters or "{}")))
    return found


def link(file, to):
    """Gives a file a second name, or copies it to another disk."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)


def patiently(client, code, args, parameters):
    """The result of a run, for which a server may have to make an image or compile first."""
    for _ in range(600):
        try:
            return client.run(code, args, **parameters)
        except served.Refused as refused:
            if refused.kind != "overloaded":
                raise
            time.sleep(1)
    raise RuntimeError("the server stays busy")


def outcome(client, code, parameters, keep=None):
    """All that a reproducible run shows: the result without its varying parts, and its document.

    `keep` is a file for the document.
    """
    parameters = {"reproducible": True, "timeout_ms": PATIENT_MS, **parameters}
    result = patiently(client, code, parameters.pop("args", {}), parameters)
    del result["duration_ms"]
    path = f"/v1/runs/{result.pop('run_id')}/record"
    for _ in range(120):
        status, text = client.request("GET", path)
        if status != 503:
            break
        # A busy server writes it a little later.
        time.sleep(0.5)
    if status == 404 and served.end_of(result) != "completed":
        return {"result": result, "record": None}
    if status != 200:
        raise RuntimeError(f"there is no document of the run: {text}")
    if keep:
        keep.write_bytes(text)
    return {"result": result, "record": json.loads(text)}


def outcomes(server, chosen, clients=1, keep=None):
    """The outcomes of programs by name. `clients` send them at the same time, in this order.

    `keep` is a folder for the documents.
    """

    def run(program):
        name, code, more = program
        client = server.client()
        try:
            file = keep and keep / f"{name.replace('/', '-')}.json"
            return name, outcome(client, code, more, file)
        finally:
            client.close()

    with ThreadPoolExecutor(clients) as pool:
        return dict(pool.map(run, chosen))


@contextlib.contextmanager
def other_runs(server):
    """Sends runs that are not reproducible as long as the context lasts."""
    ended = threading.Event()

    def disturb():
        client, number = server.client(), 0
        while not ended.is_set():
            number += 1
            with contextlib.suppress(served.Refused):
                client.run(DIRTY[number % len(DIRTY)], {})
            ended.wait(0.2)
        client.close()

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def not_verified(program, data, records):
    """Executes each document by `wardian verify`. Returns what it says about those that differ."""

    def verify(file):
        told = subprocess.run([program, "--data-dir", data, "verify", file], capture_output=True, text=True)
        return None if told.returncode == 0 else f"{file.name}: exit {told.returncode}\n{told.stdout}{told.stderr}"

    with ThreadPoolExecutor(2) as two:
        return [told for told in two.map(verify, records) if told]


def differences(one, other, path=""):
    """The places at which two outcomes differ, as lines for people."""
    if isinstance(one, dict) and isinstance(other, dict):
        lines = []
        for key in sorted({*one, *other}):
            lines += differences(one.get(key), other.get(key), f"{path}.{key}")
        return lines
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [line for n, pair in enumerate(zip(one, other)) for line in differences(*pair, f"{path}[{n}]")]
    if one == other:
        return []
    one, other = (json.dumps(value, ensure_ascii=False) for value in (one, other))
    at = next((n for n, pair in enumerate(zip(one, other)) if pair[0] != pair[1]), 0)
    start = max(at - 60, 0)
    return [f"{path.removeprefix('.')} at {at}:", f"  {one[start : at + 100]}", f"  {other[start : at + 100]}"]
