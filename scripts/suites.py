"""What `cpython-suites` and `library-suites` share: runs of suites, results, known failures.

A suite runs inside one sandbox and prints, for each test, a line when it begins and another one if
it does not pass. So a run that ends early still tells what was tested: the test that ended it
counts as failed, and a further run goes on behind it. The same program runs in a native Python,
where a test that fails as well says nothing about the sandbox.

Results are kept, one file for each suite, and are not made again unless that is asked for.
"""

import dataclasses
import fnmatch
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "\x1e"
"""Starts the lines that are reports; everything else was printed by a test."""

MAX_ENDS = 12
"""How many tests of one suite may end their run before the rest is given up."""

GUEST = r"""
import json
import os
import sys
import tempfile
import zipfile

_printed = sys.stdout


def report(*parts):
    # Tests put streams of their own in the place of `sys.stdout`.
    _printed.write("\x1e" + json.dumps(parts) + "\n")
    _printed.flush()


def unpack(args):
    'Unpacks what the tests need; returns the folder.'
    native = sys.platform != "wasi"
    root = tempfile.mkdtemp() if native else "/workspace"
    archive = args["suite"] if native else "/blobs/" + args["suite"]
    zipfile.ZipFile(archive).extractall(root + "/suite")
    return root
"""
"""The beginning of a program that runs a suite."""


def add_options(parser, results):
    """Options that both scripts have."""
    parser.add_argument("--wardian", metavar="FILE", help="the program (default: a release build)")
    parser.add_argument("--native", metavar="FILE",
        help="a native Python; tests that fail there too are told apart")  # fmt: skip
    parser.add_argument("--results", metavar="FOLDER", type=Path, default=results,
        help="where results are kept; what has one is not run again (default: %(default)s)")  # fmt: skip
    parser.add_argument("--again", action="store_true", help="run suites that have a result, too")
    parser.add_argument("--report", action="store_true", help="run nothing, show what is known")
    parser.add_argument("--table", action="store_true", help="print a Markdown table as well")
    parser.add_argument("--record", action="store_true",
        help="print lines for the list of known failures")  # fmt: skip
    parser.add_argument("--test-seconds", type=int, default=60,
        help="stop a test that takes longer, and go on behind it (default: %(default)s)")  # fmt: skip
    parser.add_argument("--suite-seconds", type=int, default=900,
        help="stop a suite that takes longer (default: %(default)s)")  # fmt: skip
    parser.add_argument("--memory-bytes", type=int, default=1 << 30,
        help="memory for a suite (default: %(default)s)")  # fmt: skip


def find_program(chosen):
    """The program to run."""
    if chosen:
        return Path(chosen).resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    program = target / "release/wardian"
    if not program.is_file():
        sys.exit(f"{program} is not there: build it, or name one with `--wardian`")
    return program


@dataclasses.dataclass
class Result:
    """What became of one suite."""

    suite: str
    run: int = 0
    skipped: int = 0
    failed: dict = dataclasses.field(default_factory=dict)
    """By name: what the failure says."""
    native: dict | None = None
    """The same of a native Python, if it was asked."""
    seconds: float = 0.0
    unfinished: str = ""
    """Why the suite was given up."""

    @property
    def passed(self):
        return max(0, self.run - self.skipped - len(self.failed))


class Suites:
    """Runs suites and keeps what they reported."""

    def __init__(self, options, program):
        self.options = options
        self.wardian = None if options.report else find_program(options.wardian)
        self.program = GUEST + program

    def result(self, suite, pack, arguments):
        """Returns the result of a suite: the one that is kept, or that of a run.

        `pack` makes the archive with the tests.
        """
        file = self.options.results / (suite.replace("/", ".") + ".json")
        known = Result(**json.loads(file.read_text())) if file.is_file() else None
        if self.options.report or known and not self.options.again:
            return known
        with tempfile.TemporaryDirectory(prefix="suite-") as folder:
            program, archive = Path(folder, "suite.py"), Path(folder, "suite.zip")
            program.write_text(self.program, encoding="utf-8")
            archive.write_bytes(pack())
            result = self._run(suite, lambda after: self._in_sandbox(
                program, archive, {**arguments, "after": after}))  # fmt: skip
            if self.options.native and result.failed:
                result.native = self._run(suite, lambda after: self._natively(
                    program, archive, {**arguments, "after": after})).failed  # fmt: skip
        if not result.run and not result.failed:  # nothing is known; another attempt may go better
            return result
        self.options.results.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(dataclasses.asdict(result), indent=1))
        return result

    def _in_sandbox(self, program, archive, arguments):
        seconds, memory = self.options.suite_seconds + 60, self.options.memory_bytes
        settings = {
            "limits.logs": "16 MiB", "limits.max.logs": "16 MiB",
            "limits.max.timeout": f"{seconds} s", "limits.max.memory": f"{memory} B",
            "limits.workspace": "512 MiB", "limits.max.workspace": "512 MiB",
            "limits.workspace_entries": "40000", "limits.max.workspace_entries": "40000",
            "limits.host_calls": "10000000", "limits.max.host_calls": "10000000",
        }  # fmt: skip
        chosen = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        return [self.wardian, "run", program, "--args", json.dumps(arguments), *chosen,
                "--blob", f"suite={archive}", "--timeout-ms", str(seconds * 1000),
                "--memory-bytes", str(memory)]  # fmt: skip

    def _natively(self, program, archive, arguments):
        given = json.dumps({**arguments, "suite": str(archive)})
        run = (
            "import json, runpy, sys; "
            "runpy.run_path(sys.argv[1])['main'](json.loads(sys.argv[2]))"
        )
        return [self.options.native, "-c", run, program, given]

    def _run(self, suite, command):
        result, started, begun, ends = Result(suite), time.monotonic(), 0, 0
        while True:
            left = self.options.suite_seconds - (time.monotonic() - started)
            run = _Run(command(begun), self.options.test_seconds, left)
            result.run += run.begun
            result.skipped += run.skipped
            result.failed |= run.failed
            begun += run.begun
            if run.is_complete:
                break
            if run.current:
                result.failed[run.current] = f"ends the run: {run.end}"
                ends += 1
            if not run.current or ends >= MAX_ENDS or left <= 0:
                result.unfinished = run.end
                break
        result.seconds = round(time.monotonic() - started, 1)
        return result


class _Run:
    """One process and what it reports, until it ends or takes too long."""

    def __init__(self, command, test_seconds, seconds):
        self.begun = 0
        self._skipped = set()
        self.failed = {}
        self.current = None
        self.is_complete = False
        self.end = ""
        self._command = command
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True,
                errors="replace", stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
            try:
                self._follow(process, test_seconds, max(1.0, seconds))
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
                    try:
                        process.wait(5)
                    except subprocess.TimeoutExpired:
                        os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                process.stdout.close()
            if not self.is_complete and not self.end:
                errors.seek(0)
                said = [line for line in errors.read().splitlines() if line.strip()]
                self.end = " / ".join(said[-3:])[-300:] or f"exit code {process.returncode}"

    def _follow(self, process, test_seconds, seconds):
        lines = queue.SimpleQueue()

        def read():
            for line in process.stdout:
                lines.put(line)
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        started = time.monotonic()
        while True:
            left = seconds - (time.monotonic() - started)
            try:
                line = lines.get(timeout=max(0.1, min(left, test_seconds)))
            except queue.Empty:
                self.end = "takes too long"
                return
            if line is None:
                return
            _, mark, text = line.partition(MARK)
            if mark:
                self._take(text)
            if left <= 0:
                self.end = "takes too long"
                return

    @property
    def skipped(self):
        """How many tests were skipped, or parts of them."""
        return len(self._skipped - self.failed.keys())

    def _take(self, text):
        try:
            kind, *parts = json.loads(text)
        except ValueError:
            return
        if kind == "begin":
            self.begun += 1
            self.current = parts[0]
        elif kind == "fail":
            self.failed.setdefault(parts[0], parts[1])
        elif kind == "skip":
            self._skipped.add(parts[0])
        elif kind == "done":
            self.is_complete = True


class Known:
    """A list of failures that are known: a name or a pattern, a separator and the reason."""

    def __init__(self, file, separator):
        self.file = file
        self.rows = {}
        self.used = set()
        for line in file.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                name, _, reason = line.partition(separator)
                if not reason.strip():
                    sys.exit(f"{file}: `{name}` has no reason")
                self.rows[name] = reason.strip()
        self._patterns = [name for name in self.rows if "*" in name]

    def find(self, name):
        """Returns the line that names a test, or None."""
        if name in self.rows:
            return name
        for pattern in self._patterns:
            if _matches(name, pattern):
                return pattern
        return None


def _matches(name, pattern):
    # In these names brackets are no sets of characters.
    return fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))


def compare(options, known, results, belongs):
    """Prints the results; returns how many lines of the list are wrong or missing.

    `belongs` tells whether a name of the list is one of a suite.
    """
    wrong = 0
    for result in results:
        native = result.native or {}
        rows = {name: known.find(name) for name in result.failed if name not in native}
        new = sorted(name for name, row in rows.items() if row is None)
        known.used.update(row for row in rows.values() if row is not None)
        gone = sorted(name for name in known.rows
            if belongs(name, result.suite) and name not in known.used)  # fmt: skip
        also = sum(1 for name in result.failed if name in native)
        note = f", {also} fail natively too" if also else ""
        note += f", given up: {result.unfinished}" if result.unfinished else ""
        print(f"{result.suite}: {result.passed} passed, {result.skipped} skipped, "
              f"{len(rows)} failed{note} ({result.seconds:.0f} s)", flush=True)  # fmt: skip
        for name in new:
            text = " ".join(result.failed[name].split())
            row = f"{name}{options.separator}{text[-200:]}"
            print(row if options.record else f"  fails: {name}: {text[-300:]}")
        for name in gone:
            print(f"  does not fail: {name}")
        wrong += len(new) + len(gone) + bool(result.unfinished)
    return wrong


def print_table(results):
    """Prints the results as a table for the documents."""
    print("| suite | passed | skipped by the test | failed, with a reason |")
    print("| --- | ---: | ---: | ---: |")
    for result in results:
        failed = sum(1 for name in result.failed if name not in (result.native or {}))
        print(f"| `{result.suite}` | {result.passed} | {result.skipped} | {failed} |")
