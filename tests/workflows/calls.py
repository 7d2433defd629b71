"""Each script of the collection: with `--help`, without arguments, and as the documents of its skill show it.

What ends a script is compared with this machine, where the same call is made with the same files.
"""

import asyncio
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import documents
from sandbox import NOT_THERE, Call, Sandbox

# A command of a document: `python scripts/x.py …`, or `python -m scripts.x …`.
_SHOWN = re.compile(r"python3? (?:-m )?((?:\S*/)?[a-z_]*scripts[/.][\w./]+|\S+generate_review\.py)([^`\n]*)")

_MAY_TAKE_SECONDS = 60

# The files that the documents call by these names.
_FILES = {
    "document.docx": documents.report, "input.docx": documents.report, "doc.docx": documents.report,
    "presentation.pptx": documents.deck, "template.pptx": documents.deck, "input.pptx": documents.deck,
    "output.pptx": documents.deck, "output.xlsx": documents.workbook, "file.pdf": documents.form,
    "input.pdf": documents.form, "output.pdf": documents.form, "input_pdf": documents.form,
    "excel_file": documents.workbook, "fields.json": documents.boxes, "field_values.json": documents.values,
}  # fmt: skip

# The call before the one that is shown, where that needs a folder.
_UNPACK = {"docx": "document.docx", "pptx": "presentation.pptx"}


def scripts(folder):
    """The scripts of a skill: Python files that do something when they are called."""
    for path in sorted(folder.rglob("*.py")):
        if re.search(r"__main__|^[a-z]+\(|^with |sys\.argv", path.read_text(), re.M):
            yield path.relative_to(folder).as_posix()


def shown(folder):
    """Commands in the documents of a skill: the script and its arguments."""
    for document in sorted(folder.rglob("*.md")):
        text = document.read_text().replace("\\\n", " ")
        for found in _SHOWN.finditer(text):
            script, rest = found.groups()
            if "/" not in script:
                script = script.replace(".", "/") + ".py"
            script = script[script.find("scripts/"):] if "scripts/" in script else "eval-viewer/generate_review.py"
            rest = re.sub(r"\s(#|>|\||&)\s.*", "", rest)
            rest = re.sub(r"<([^<>]*)>", lambda name: name[1].replace(" ", "_"), rest)
            rest = re.sub(r"\[[^\]]*\]", "", rest)
            try:
                argv = shlex.split(rest)
            except ValueError:
                continue
            yield script, argv


def ended(exit_code, stderr):
    """How a call ended: its exit code, and the class of an exception that nothing caught."""
    raised = re.search(r"^([\w.]+(?:Error|Exception))(?::|$)", stderr.strip().rpartition("\n")[2])
    return exit_code, raised and raised[1] if exit_code else None


def on_this_machine(root, commands, files):
    """How the last of these calls ends without the sandbox."""
    path = os.path.dirname(sys.executable)
    environment = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        for script, *argv in commands:
            done = subprocess.run(
                [sys.executable, str(root / script), *argv], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=_MAY_TAKE_SECONDS,
            )  # fmt: skip
        return ended(done.returncode, done.stderr)


async def check(client, calls, root, skill):
    """Makes the calls of one skill; what differs from this machine, as lines."""
    made = set()
    wanted = []
    for script in scripts(root):
        wanted += [(script, ["--help"]), (script, [])]
    for script, argv in shown(root):
        if (root / script).is_file():
            wanted.append((script, argv))
    for script, argv in wanted:
        if (script, *argv) in made:
            continue
        made.add((script, *argv))
        named = [name for name in NOT_THERE if re.search(rf"\b{name}\b", " ".join(argv))]
        if named:
            # It would wait for the program that its command line names.
            calls.append(Call(skill, script, argv, named[0], None))
            continue
        commands = [(script, *argv)]
        if argv[:1] == ["unpacked/"] and skill in _UNPACK:
            commands.insert(0, ("scripts/office/unpack.py", _UNPACK[skill], "unpacked/"))
        files = {name: _FILES[name]() for command in commands for name in command if name in _FILES}
        sandbox = Sandbox(client, calls, skill)
        for name, content in files.items():
            await sandbox.upload(name, content)
        there = await asyncio.to_thread(on_this_machine, root, commands, files)
        for number, command in enumerate(commands, 1):
            result = await sandbox.script(*command, is_last=number == len(commands))
        if len(commands) > 1:
            # The call before is one of those that are made by themselves.
            del calls[-2]
        call = calls[-1]
        here = ended(call.exit_code, result["stderr"])
        if there[1] == "ImportError":
            # A module of a package is called, which works here without `-m`.
            here, there = here[:1], there[:1]
        if call.outcome == "runs" and here != there:
            yield f"{skill} {script} {argv}: {here} instead of {there}", result
