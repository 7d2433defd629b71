"""The command line."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import List, Optional

from . import __version__
from .capabilities import missing_extensions
from .case import LEVELS, SHOULD
from .report import as_json, as_junit, as_lines, as_markdown, failure, list_as_markdown, printable
from .runner import FAILED, PASSED, Outcome, chosen, is_optional, missing_skills, run
from .session import Session
from .skills_folder import folder, install
from .transport import HttpTransport, Unreachable

CONFORMS, DIFFERS, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130
KEY_VARIABLE = "SKILLS_PROTOCOL_KEY"


def parser() -> argparse.ArgumentParser:
    """The options."""
    options = argparse.ArgumentParser(
        prog="skills-protocol-conformance",
        description="Checks whether a server speaks the Skills Protocol 0.1.",
        epilog="Exit codes: 0 all cases pass, 1 a case fails, 2 the cases could not be run.",
    )
    options.add_argument(
        "--url", "--server", help="the server, such as http://127.0.0.1:8080 (the path is /rpc unless given)"
    )
    options.add_argument(
        "--key", help=f"bearer token for the server; better in a file or in the variable {KEY_VARIABLE}"
    )
    options.add_argument("--key-file", type=Path, metavar="FILE", help="file with the bearer token")
    options.add_argument(
        "--other-key-file",
        type=Path,
        metavar="FILE",
        help="file with the bearer token of another tenant, for the cases about two tenants",
    )
    options.add_argument(
        "--level",
        choices=LEVELS,
        default=SHOULD,
        help="run the cases up to this level [default: should]",
    )
    options.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="TEXT",
        help="only cases whose ids contain the text, such as `blobs.`; can be given several times",
    )
    options.add_argument(
        "--timeout", type=float, default=60, metavar="SECONDS", help="for each request [default: 60]"
    )
    options.add_argument("--report", type=Path, metavar="FILE", help="write a report in Markdown")
    options.add_argument("--junit", type=Path, metavar="FILE", help="write a report for CI")
    options.add_argument("--json", type=Path, metavar="FILE", help="write a report for programs")
    options.add_argument("--list", action="store_true", help="print the cases as Markdown, and run nothing")
    options.add_argument(
        "--skills-folder", action="store_true", help="print the folder with the skills that the cases need"
    )
    options.add_argument(
        "--install", type=Path, metavar="FOLDER", help="copy these skills into the folder of a server"
    )
    options.add_argument("--version", action="version", version=__version__)
    return options


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs the command line and returns the exit code."""
    # Names and answers of a server need not fit into the terminal's alphabet.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        return _main(options)
    except (OSError, Unreachable, ValueError) as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(options: argparse.Namespace) -> int:
    if options.list:
        print(list_as_markdown(chosen(LEVELS[-1], options.filter)), end="")
        return CONFORMS
    if options.skills_folder:
        print(folder())
        return CONFORMS
    if options.install:
        for name in install(options.install):
            print(options.install / name)
        if not options.url:
            return CONFORMS
    if not options.url:
        raise ValueError("name the server with `--url`, such as --url http://127.0.0.1:8080")
    keys = _key(options), _key_in(options.other_key_file) if options.other_key_file else None
    return _check(options, HttpTransport(options.url, options.timeout, *keys))


def _key(options: argparse.Namespace) -> Optional[str]:
    if options.key_file:
        return _key_in(options.key_file)
    return options.key or os.environ.get(KEY_VARIABLE) or None


def _key_in(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip()


def _check(options: argparse.Namespace, transport: HttpTransport) -> int:
    cases = chosen(options.level, options.filter)
    if not cases:
        raise ValueError("no case has such an id; `--list` shows them")
    for_two = [case.id for case in cases if case.needs_other_tenant and not options.other_key_file]
    cases = [case for case in cases if case.id not in for_two]
    probe = Session(transport)
    if probe.send(json.dumps(probe.request("list_skills", {})).encode()).status in (401, 403):
        raise ValueError(
            f"the server at {transport.url} wants a valid key: name one with `--key-file FILE`, "
            f"`--key` or the variable {KEY_VARIABLE}"
        )
    missing = missing_skills(probe, cases)
    needed = [skill for skill in missing if not is_optional(skill)]
    if needed:
        raise ValueError(
            f"the server at {transport.url} does not have the skills {', '.join(needed)}; copy the skills of "
            "the suite into its folder with `--install FOLDER`"
        )
    absent = missing_extensions(probe, cases)
    outcomes = run(transport, cases, missing, _tell, absent)
    for path, write in ((options.report, as_markdown), (options.junit, as_junit), (options.json, as_json)):
        if path:
            path.write_text(write(outcomes, transport.url), encoding="utf-8", errors="backslashreplace")
    bad = [outcome for outcome in outcomes if outcome.status == FAILED]
    for outcome in bad:
        print(f"\n{printable(failure(outcome))}")
    print()
    for extension in absent:
        print(f"The server does not have the extension `{extension}`: its cases were skipped.")
    if for_two:
        print(f"Not run without `--other-key-file`, a key of another tenant: {', '.join(for_two)}.")
    print("\n".join(as_lines(outcomes)))
    return DIFFERS if bad else CONFORMS


def _tell(outcome: Outcome) -> None:
    why = f": {outcome.message}" if outcome.status != PASSED else ""
    print(printable(f"{outcome.status:<7} {outcome.case.id}{why}"), flush=True)
