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
from sandbox import Failed, Sandbox

# Programs and packages that do not exist in the sandbox: for these alone may a call fail.
NOT_THERE = {
    "soffice": "an office program",
    "pdftoppm": "a program that draws pages",
    "pdfinfo": "a program that draws pages",
    "gcc": "a compiler",
    "claude": "a program that calls a model",
    "npm": "Node",
    "npm run dev": "Node",
    "anthropic": "a client of a model",
    "playwright": "a browser",
    "pdf2image": "a program that draws pages",
    "imageio": "a package",
    "pdfplumber": "a package",
}

failures = []


def report(what, problem):
    print(f"{'BAD ' if problem else 'good'}  {what}" + (f": {problem}" if problem else ""), flush=True)
    if problem:
        failures.append(what)


async def run_workflows(client, made):
    for name, skill, workflow in workflows.ALL:
        began = time.monotonic()
        try:
            skipped = await workflow(Sandbox(client, made, skill))
        except Failed as problem:
            report(name, str(problem))
            continue
        if skipped:
            print(f"SKIPPED  {name}: {skipped}", flush=True)
        else:
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
    rows = collections.defaultdict(list)
    for call in made:
        rows[call.skill, call.script].append(call)
    print("\n| skill | script | calls | run | others |\n| --- | --- | ---: | ---: | --- |")
    for (skill, script), of_script in sorted(rows.items()):
        runs = sum(call.outcome == "runs" for call in of_script)
        others = sorted({f"`{call.outcome}`" for call in of_script if call.outcome != "runs"})
        print(f"| {skill} | `{script}` | {len(of_script)} | {runs} | {', '.join(others)} |")


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
