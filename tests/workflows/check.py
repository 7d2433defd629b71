"""Runs the workflows, and the calls of all scripts, on a server with the collection.

    check.py URL FOLDER [--short] [--table]
"""

import argparse
import asyncio
import collections
import time
from pathlib import Path

from mcp import Client

import calls as single
import workflows
from sandbox import NOT_THERE, Failed, Sandbox

failures = []


def report(what, problem):
    print(f"{'BAD ' if problem else 'good'}  {what}" + (f": {problem}" if problem else ""), flush=True)
    if problem:
        failures.append(what)


async def run_workflows(client, made):
    for name, skill, workflow in workflows.ALL:
        began = time.monotonic()
        try:
            await workflow(Sandbox(client, made, skill))
        except Failed as problem:
            report(name, str(problem))
            continue
        report(f"{name} ({time.monotonic() - began:.1f} s)", None)


async def run_calls(client, made, folder):
    for root in sorted(folder.iterdir()):
        if not any(single.scripts(root)):
            continue
        began, before, bad = time.monotonic(), len(made), len(failures)
        async for what, result in single.check(client, made, root, root.name):
            report(what, str(result)[-1500:])
        if len(failures) == bad:
            report(f"{len(made) - before} calls of {root.name} ({time.monotonic() - began:.1f} s)", None)


def print_table(made):
    """The scripts of each skill whose calls all run in one row, and each other script in a row of its own."""
    scripts = collections.defaultdict(list)
    for call in made:
        scripts[call.skill, call.script].append(call)
    rows = collections.defaultdict(list)
    for (skill, script), of_script in sorted(scripts.items()):
        others = collections.Counter(call.outcome for call in of_script if call.outcome != "runs")
        rows[skill, "" if not others else script].append((script, len(of_script), others))
    print("\n| skill | scripts | calls | run | others |\n| --- | --- | ---: | ---: | --- |")
    for (skill, _), of_row in rows.items():
        names = ", ".join(f"`{script.removeprefix('scripts/')}`" for script, _, _ in of_row)
        calls, others = sum(count for _, count, _ in of_row), of_row[0][2]
        lacks = ", ".join(f"{count} without {NOT_THERE.get(name, name)} (`{name}`)" for name, count in others.items())
        print(f"| {skill} | {names} | {calls} | {calls - sum(others.values())} | {lacks} |")


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    made = []
    async with Client(options.url, read_timeout_seconds=300) as client:
        await run_workflows(client, made)
        if not options.short:
            await run_calls(client, made, options.folder)
    foreign = [call for call in made if call.outcome in NOT_THERE]
    unknown = [call for call in made if call.outcome != "runs" and call.outcome not in NOT_THERE]
    for call in unknown:
        report(f"{call.skill} {call.script} {call.argv}", call.outcome)
    if options.table:
        print_table(made)
    counted = collections.Counter(call.outcome for call in foreign)
    named = ", ".join(f"{count} without `{name}`" for name, count in sorted(counted.items()))
    print(f"\n{len(made)} calls: {len(made) - len(foreign) - len(unknown)} run; {named}", flush=True)
    if failures:
        raise SystemExit(f"failed: {len(failures)}")


asyncio.run(main())
