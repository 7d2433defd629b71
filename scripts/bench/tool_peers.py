"""How long peers take to call a function of their caller, each in its own way.

Run by the Python of the virtual environment. Prints one JSON object: for each way the time of a call in
milliseconds, or why there is none. All of them answer at once with what they were given.

eryx               a callback in the process of the caller, on another thread
eryx, journal      each call suspends the program, which is then executed once more from its beginning, with
                   the answers so far
monty              a function in the process of the caller; monty runs in another one
monty, snapshots   each call makes a snapshot that is written out as bytes, and read by a new session

    python tool_peers.py CALLS
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

AWAITED = "total = 0\nfor n in range({calls}):\n    total += await echo(n=n)\nprint(total)"
CALLED = "total = 0\nfor n in range({calls}):\n    total += echo(n=n)\ntotal"
SUSPENDED = 50
"""Most calls of a program that is executed anew for each of them: the time of all grows with their square."""


def eryx_live(calls: int) -> float:
    """Callbacks of one execution."""
    import eryx

    registry = eryx.CallbackRegistry()

    @registry.callback(description="Gives what it gets.")
    def echo(n: int) -> int:
        return n

    sandbox = eryx.Sandbox(callbacks=registry)
    code = AWAITED.format(calls=calls)
    sandbox.execute(code)
    began = time.perf_counter()
    printed = sandbox.execute(code).stdout
    return _each(began, calls, int(printed))


def eryx_journal(calls: int) -> float:
    """A program that is suspended in each call."""
    import eryx

    calls = min(calls, SUSPENDED)
    registry, answers = eryx.CallbackRegistry(), {}

    @registry.callback(description="Gives what it gets.")
    def echo(n: int) -> int:
        if n not in answers:
            raise eryx.SuspendCallback(str(n))
        return answers[n]

    sandbox, journal = eryx.Sandbox(callbacks=registry), None
    code = AWAITED.format(calls=calls)
    began = time.perf_counter()
    while True:
        outcome = sandbox.execute_with_journal(code, journal=journal)
        journal = outcome.journal
        if not outcome.suspended:
            return _each(began, calls, int(outcome.result.stdout))
        asked = int(outcome.suspended.reason)
        answers[asked] = asked


MONTY_CALLS = 900
"""Most calls of one session; without other limits, monty ends it at the thousandth."""


def monty_live(calls: int) -> float:
    """External functions of one session."""
    from pydantic_monty import Monty

    calls = min(calls, MONTY_CALLS)
    with Monty() as pool, pool.checkout() as session:
        code, known = CALLED.format(calls=calls), {"echo": lambda n: n}
        session.feed_run(CALLED.format(calls=20), external_lookup=known)
        began = time.perf_counter()
        return _each(began, calls, session.feed_run(code, external_lookup=known))


def monty_snapshots(calls: int) -> float:
    """A program whose state is written out in each call, and goes on in another session."""
    from pydantic_monty import FunctionSnapshot, Monty

    with Monty() as pool:
        began = time.perf_counter()
        with pool.checkout() as session:
            found: Any = session.feed_start(CALLED.format(calls=calls))
            state = found.dump()
        while True:
            with pool.checkout() as session:
                found = session.load_snapshot(state)
                if not isinstance(found, FunctionSnapshot):
                    raise RuntimeError(f"it asks for something else: {found!r}")
                found = found.resume({"return_value": found.kwargs["n"]})
                if not isinstance(found, FunctionSnapshot):
                    return _each(began, calls, found.output)
                state = found.dump()


WAYS: dict[str, Callable[[int], float]] = {
    "eryx": eryx_live,
    "eryx, journal": eryx_journal,
    "monty": monty_live,
    "monty, snapshots": monty_snapshots,
}


def _each(began: float, calls: int, total: int) -> float:
    """The time of one call, if all were answered rightly."""
    took = (time.perf_counter() - began) * 1e3
    if total != sum(range(calls)):
        raise RuntimeError(f"a wrong total: {total}")
    return took / calls


def main() -> None:
    """Measures each way three times, and prints the median."""
    calls, found = int(sys.argv[1]), {}
    for name, way in WAYS.items():
        try:
            found[name] = round(statistics.median(way(calls) for _ in range(3)), 3)
        except Exception as fault:  # whatever a peer raises says what it cannot do
            found[name] = f"{type(fault).__name__}: {fault}"[:160]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
