"""Tools of the caller: how long a call takes, many at once, and what runs take that wait.

Each part has a server of its own. The client measures: a guest's clock is too coarse. A call takes from its
event to that of the next one, as the guest calls again at once. The client's own time is that from the event
to the first byte of its answer; what is beyond it is the way of the answer to the guest, and of the next call
to the client. Calls in rounds are those without events: the call returns with what the program asks, which
is parked where it waits, and the next one answers. Empty runs show how busy the machine is.

Runs that wait have pandas and a small table. Those that are parked wait in an `await`, those that are held
in a plain call, in a worker each: as many as the server lets.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import served
from bench import sessions, surroundings
from bench.sessions import Measured, serving, taken, times

TOOLS = [{"name": "crm.echo", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
CALLS = """
import asyncio
from tools import crm
for turn in range({turns}):
    answers = await asyncio.gather(*(crm.echo(n=n) for n in range({at_once})))
    assert answers == list(range({at_once}))
turn
"""
PARKED = sessions.SMALL + """
from tools import crm
int(totals.sum()) + await crm.echo(n=1)
"""
HELD = sessions.SMALL + """
from tools import crm
def ask():
    return crm.echo.sync(n=1)
int(totals.sum()) + ask()
"""
EXPECTED = sum(range(500)) + 1
BAR_MS = 1.0
"""What a call may take at p50 beyond the client's own time."""
QUICK = {"calls": 50, "at_once": 20, "turns": 3, "waiting": 20, "held": 4}
"""The small form."""


@dataclass(frozen=True)
class Form:
    """How much is measured."""

    calls: int = 1_000
    at_once: int = 100
    turns: int = 20
    waiting: int = 1_000
    held: int = 1_000

    @property
    def of_sessions(self) -> sessions.Form:
        """The form with which a server for so many runs is started."""
        return sessions.Form(sessions=self.waiting)


class Answering:
    """A client of one run: it hears requests as events, and answers them over a second connection."""

    def __init__(self, server: served.Server) -> None:
        self._events = http.client.HTTPConnection(server.address, timeout=600)
        self._answers = http.client.HTTPConnection(server.address, timeout=600)
        self._begun: list[float] = []
        self._heard: list[float] = []
        self._sent: list[float] = []

    def run(self, turns: int, at_once: int) -> None:
        """Runs a program of so many turns to its end, each with so many calls that are answered together."""
        for noted in (self._begun, self._heard, self._sent):
            noted.clear()
        body = message(CALLS.format(turns=turns, at_once=at_once))
        kind = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        self._events.request("POST", "/rpc", body, kind)
        response = self._events.getresponse()
        name, asked = b"", []
        while line := response.readline():
            if line.startswith(b"event:"):
                name = line[6:].strip()
            elif line.startswith(b"data:") and name == b"request":
                if not asked:
                    self._begun.append(time.perf_counter())
                asked.append(line)
                if len(asked) == at_once:
                    self._answer(asked)
                    asked = []
            elif line.startswith(b"data:") and name == b"response":
                response.read()
                if value_of(json.loads(line[5:])["result"]) != turns - 1:
                    raise RuntimeError(f"a run with tools is wrong: {line[:300]!r}")
                return
        raise RuntimeError("the events ended before the result")

    def whole_ms(self) -> list[float]:
        """The time of each turn but the last one, until the next one begins."""
        return differences(self._begun[:-1], self._begun[1:])

    def own_ms(self) -> list[float]:
        """The client's own time of each turn, from its last event to its answers."""
        return differences(self._heard, self._sent)

    def beyond_ms(self) -> list[float]:
        """The time from the answers of each turn but the last one to the first event of the next one."""
        return differences(self._sent[:-1], self._begun[1:])

    def _answer(self, asked: list[bytes]) -> None:
        self._heard.append(time.perf_counter())
        requests = [json.loads(line[5:]) for line in asked]
        body = json.dumps({"answers": answers_to(requests)})
        path = f"/v1/runs/{requests[0]['run_id']}/answers"
        self._sent.append(time.perf_counter())
        self._answers.request("POST", path, body, {"Content-Type": "application/json"})
        answer = self._answers.getresponse()
        told = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the answers were refused: {told[:300]!r}")

    def close(self) -> None:
        """Closes both connections."""
        self._events.close()
        self._answers.close()


def differences(earlier: list[float], later: list[float]) -> list[float]:
    """Milliseconds between two moments of each turn."""
    return [(end - begin) * 1e3 for begin, end in zip(earlier, later, strict=True)]


def answers_to(requests: list[Any]) -> list[Any]:
    """The answers to these requests."""
    return [{"id": one["id"], "output": one["arguments"]["n"]} for one in requests]


def order_of(code: str) -> dict[str, Any]:
    """The parameters of a run that has tools."""
    return {"language": "python", "code": code, "tools": TOOLS, "timeout_ms": 600_000}


def message(code: str) -> str:
    """The body of a call of `run_code`."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run_code", "params": order_of(code)})


def value_of(result: dict[str, Any]) -> Any:
    """The value of a run that has completed."""
    if result["status"] != "completed":
        raise RuntimeError(f"a run did not complete: {json.dumps(result)[:500]}")
    return result["output"]["result"]


def in_rounds(measured: Measured, turns: int, at_once: int) -> list[float]:
    """Runs the same program without events, and returns the time of each call that answers."""
    code = CALLS.format(turns=turns, at_once=at_once)
    result, found = measured.client.call("run_code", order_of(code)), []
    while result["status"] == "waiting":
        answers = answers_to(result["requests"])
        began = time.perf_counter()
        result = go_on(measured, result["session"]["id"], answers)
        found.append((time.perf_counter() - began) * 1e3)
    value_of(result)
    return found


def go_on(measured: Measured, session: str, answers: list[Any]) -> dict[str, Any]:
    """The next part of a run that waits."""
    params = {"language": "python", "code": "", "session": session, "answers": answers}
    result: dict[str, Any] = measured.client.call("run_code", {**params, "timeout_ms": 600_000})
    return result


def one_by_one(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Calls one after another."""
    return calls(program, workers, form, form.calls, 1)


def at_once(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Many calls at once, again and again."""
    return calls(program, workers, form, form.turns, form.at_once)


def calls(program: Path, workers: int, form: Form, turns: int, at_once: int) -> dict[str, Any]:
    """Turns of calls, with events and in rounds. A run of a few turns comes first."""
    with serving(program, workers, form.of_sessions, warm=8) as measured:
        client = Answering(measured.server)
        with contextlib.closing(client):
            client.run(3, at_once)
            client.run(turns, at_once)
            found = client.whole_ms(), client.own_ms(), client.beyond_ms()
        in_rounds(measured, 3, at_once)
        rounds = in_rounds(measured, turns, at_once)
        empty = [taken(measured.run) for _ in range(min(turns, 200))]
    whole, own, beyond = found
    return {
        "turns": turns,
        "calls_of_each": at_once,
        "with_events": times(whole),
        "of_the_client": times(own),
        "beyond_the_client": times(beyond),
        "in_rounds": times(rounds),
        "empty_run": times(empty),
    }


def peers(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """The same calls of peers, one after another. They are libraries: no request travels over HTTP."""
    python = surroundings.ensure_environment(None)
    command = [str(python), str(Path(__file__).with_name("tool_peers.py")), str(form.calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {"call_ms": found}


def parked(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Runs that wait without a worker."""
    return waiting(program, workers, form, PARKED, form.waiting, warm=1)


def held(program: Path, workers: int, form: Form) -> dict[str, Any]:
    """Runs that wait in a worker each, until the server refuses one."""
    return waiting(program, workers, form, HELD, form.held, warm=32)


def waiting(
    program: Path, workers: int, form: Form, code: str, count: int, warm: int
) -> dict[str, Any]:
    """Lets runs wait, and then go on in any order."""
    with serving(program, workers, form.of_sessions, warm) as measured:
        measured.run()
        before = measured.memory()
        began = time.perf_counter()
        runs: dict[str, Any] = {}
        refusal = None
        while len(runs) < count and refusal is None:
            try:
                result = measured.client.call("run_code", order_of(code))
            except served.Refused as refused:
                refusal = str(refused).partition(";")[0]
                break
            if result["status"] != "waiting":
                refusal = str(result["error"]["message"]).partition(";")[0]
                break
            runs[result["session"]["id"]] = result["requests"]
            if len(runs) % 100 == 0:
                print(f"{len(runs)} of {count} runs wait ...", file=sys.stderr, flush=True)
        seconds = time.perf_counter() - began
        after = measured.memory()
        disk = measured.disk(len(runs))
        order = list(runs)
        random.Random(1).shuffle(order)
        gone_on = []
        for session in order:
            answers = answers_to(runs[session])
            ended: list[Any] = []
            gone_on.append(taken(lambda: ended.append(go_on(measured, session, answers))))
            if value_of(ended[0]) != EXPECTED:
                raise RuntimeError(f"a run that waited is wrong: {json.dumps(ended[0])[:300]}")
        more = {name: round(after[name] - before[name], 1) for name in before}
        return {
            "runs": len(runs),
            "asked_for": count,
            "refusal": refusal or "none",
            "seconds_to_make": round(seconds, 1),
            "memory_before": before,
            "memory_after": after,
            "more_mib": more,
            "gateway_kib_each": round(1024 * more["gateway_mib"] / max(len(runs), 1), 1),
            "workers_kib_each": round(1024 * more["workers_mib"] / max(len(runs), 1), 1),
            "disk": disk,
            "going_on": times(gone_on),
        }


PARTS: dict[str, Callable[[Path, int, Form], dict[str, Any]]] = {
    "one_by_one": one_by_one,
    "at_once": at_once,
    "peers": peers,
    "parked": parked,
    "held": held,
}
"""What can be measured, in the order in which it is."""


def measure(program: Path, workers: int, form: Form, parts: Sequence[str]) -> dict[str, Any]:
    """The parts, one server after the other. What is found is also told as soon as it is known."""
    found: dict[str, Any] = {}
    for name, part in PARTS.items():
        if name in parts:
            found[name] = part(program, workers, form)
            print(json.dumps({name: found[name]}), file=sys.stderr, flush=True)
    beyond = found.get("one_by_one", {}).get("beyond_the_client", {}).get("p50_ms")
    if beyond is not None:
        is_met = "met" if beyond <= BAR_MS else f"missed, {beyond / BAR_MS:.1f} times"
        row = ("a call beyond the client's own time, p50", f"{BAR_MS:g} ms", f"{beyond:,.2f} ms", is_met)
        found["bars"] = [dict(zip(("what", "bar", "measured", "is"), row))]
    return found
