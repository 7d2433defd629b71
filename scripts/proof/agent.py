"""An agent builds a report over many calls, and it is right whatever happens in between.

The agent is tests/mcp/agent.py: a program with the published Python client of the Model Context Protocol,
which is fetched with pip, in the version and with the hashes that `check-mcp` pins. While it works, workers
and the server are killed between two calls and in the middle of one, the server restarts, and the session
expires. The report has to be the one that the same work gives in the Python that runs this, and the
session's own file has to be the same.
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import served

from proof.leaks import leak_pairs

HERE = served.REPOSITORY / "tests/mcp"
WORK = HERE / "work.py"
CALLS = 40
SHORT_CALLS = 14

FAULTS = ("worker", "worker in a call", "server", "server in a call", "restart", "expiry")
"""What happens, in this order, spread over the calls."""

IN_A_CALL = 2.0
"""Seconds after its beginning; the call takes four."""


def add_options(parser):
    """The options of this proof."""
    parser.add_argument("--calls", type=int, default=CALLS, help=f"calls of the agent [default: {CALLS}]")
    parser.add_argument("--idle", type=int, default=40,
        help="seconds after which a session expires; each fault has to be over before [default: 40]")  # fmt: skip
    parser.add_argument("--python", metavar="FILE",
        help="a Python with the client [default: that of check-mcp, which fetches it]")  # fmt: skip


def prove(program, options):
    """One report; returns the summary."""
    calls = SHORT_CALLS if options.short else options.calls
    if calls < 2 * len(FAULTS):
        raise SystemExit(f"--calls must be at least {2 * len(FAULTS)}")
    python = options.python or python_of_check_mcp()
    with tempfile.TemporaryDirectory(prefix="wardian-agent-") as folder:
        right = report_of(calls, folder)
        place = Place(program, Path(folder) / "data", options.idle)
        try:
            found = accompany(python, calls, place, faults_of(calls), options.json)
            found |= compare(place, found.pop("last"), right)
        finally:
            place.close()
    return found


def python_of_check_mcp():
    """The Python of a virtual environment with the published client."""
    path = str(served.REPOSITORY / "scripts/check-mcp")
    loader = importlib.machinery.SourceFileLoader("check_mcp", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_mcp", loader))
    loader.exec_module(module)
    # What it tells belongs to a person.
    with contextlib.redirect_stdout(sys.stderr):
        python = module.prepare_python()
    if python is None:
        raise SystemExit("the client cannot be fetched")
    return python


def report_of(calls, folder):
    """The report that the work gives without a server."""
    lines = [WORK.read_text(), "resume(0)", *(f"step({number})" for number in range(1, calls)), "finish()"]
    place = Path(folder) / "natively"
    place.mkdir()
    subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=place, check=True)
    return (place / "report.md").read_text()


def faults_of(calls):
    """What happens at which call."""
    gap = calls // (len(FAULTS) + 1)
    return {gap * number: fault for number, fault in enumerate(FAULTS, start=1)}


class Place:
    """A server, and the next one on the same data after it."""

    def __init__(self, program, data, idle):
        self.program, self.data, self.idle = program, data, idle
        self.open = contextlib.ExitStack()
        self.server = None
        self.lock = threading.Lock()
        self.start()

    def start(self):
        """Starts a server."""
        arguments = ("--workers", "1", "--log-level=error", "--set", f"sessions.idle={self.idle} s")
        self.server = self.open.enter_context(served.Server(self.program, *arguments, data=self.data))

    def url(self):
        """Where clients of the protocol find it, once it is there."""
        with self.lock:
            return f"http://{self.server.address}/mcp"

    def kill(self):
        """Kills the server and starts the next one."""
        with self.lock:
            self.server.process.kill()
            self.server.process.wait()
            self.server.was_killed()
            self.start()

    def restart(self):
        """Ends the server as an operator does, and starts the next one."""
        with self.lock:
            self.open.close()
            self.start()

    def kill_workers(self):
        """Kills all workers."""
        for worker in filter(leak_pairs.is_worker, self.server.workers()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    def expire(self, session):
        """Waits until a session has expired. A look at it is no use of it."""
        client = self.server.client()
        last = time.monotonic() + 3 * self.idle + 60
        while client.request("GET", f"/v1/sessions/{session}")[0] != 410:
            if time.monotonic() > last:
                raise RuntimeError("the session does not expire")
            time.sleep(0.5)
        client.close()

    def close(self):
        """Ends the last server."""
        self.open.close()


def accompany(python, calls, place, faults, is_quiet):
    """Runs the agent, and lets happen what has to; returns what it has met."""
    command = [str(python), str(HERE / "agent.py"), str(WORK), str(calls)]
    happened, pending, last = [], [], None
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        for line in agent.stdout:
            told = json.loads(line)
            if "report" in told:
                last = told
                continue
            answer = {}
            fault = faults.pop(told["at"], None) if "next" in told else None
            if fault is not None:
                happened.append(f"{fault}, before call {told['at'] + 1}")
                if not is_quiet:
                    print(happened[-1], file=sys.stderr, flush=True)
                answer["slow"] = fault.endswith("in a call")
                begin(fault, place, told["session"], pending)
            answer["url"] = place.url()
            agent.stdin.write(json.dumps(answer) + "\n")
            agent.stdin.flush()
    for thread in pending:
        thread.join()
    if last is None:
        raise SystemExit(f"the agent has ended with {agent.returncode} and without its report")
    if faults:
        raise SystemExit(f"the agent was through before this happened: {list(faults.values())}")
    return {"calls": calls, "happened": happened, "met": last["met"], "last": last}


def begin(fault, place, session, pending):
    """Lets something happen: now, or in the middle of the next call."""
    acts = {"worker": place.kill_workers, "server": place.kill, "restart": place.restart,
            "expiry": lambda: place.expire(session)}  # fmt: skip
    act = acts[fault.removesuffix(" in a call")]
    if not fault.endswith("in a call"):
        act()
        return

    def later():
        time.sleep(IN_A_CALL)
        act()

    pending.append(threading.Thread(target=later))
    pending[-1].start()


def compare(place, last, right):
    """Whether the report is right: as the agent has it, and as a file of its session."""
    client = place.server.client()
    status, content = client.request("GET", f"/v1/sessions/{last['session']}/files/report.md")
    client.close()
    is_right = last["report"] == right
    is_same_file = status == 200 and content.decode() == right
    met = last["met"]
    return {
        "report_bytes": len(right),
        "report_is_right": is_right,
        "file_is_right": is_same_file,
        "passed": is_right and is_same_file and met["expired"] > 0 and met["without_answer"] > 0,
    }
