"""Defects of the sandbox."""

import types

from ..refused import Refused
from .executing import coded
from .spoil import after, before, changed, defect, simple


@defect("files stay", "sandbox.files-gone", "ext.files")
def _(server):
    left = {}
    server.left_files = lambda: left
    after(
        server,
        "keep",
        lambda _, result, program, params: left.update(
            {path: data for path, data in program.files.items() if path.startswith("/workspace/")}
        ),
    )


@defect("one interpreter for all runs", "sandbox.memory-gone")
def _(server):
    kept = types.SimpleNamespace()
    server.guest_builtins = lambda: kept


@defect(
    "no workspace",
    "sandbox.workspace",
    "sandbox.files-gone",
    "ext.files",
    "ext.files-kept",
    "ext.files-named",
    "ext.blob-mounted-name",
)
def _(server):
    server.may_write = lambda path: False


def remounted(name, cases, change):
    """A defect in the files of a program: `change(program)` changes them."""

    def apply(program, *_):
        change(program)
        return program

    simple(name, cases, "program", apply)


def unmount(program, place, is_meant=True):
    """Removes the files below a place."""
    if is_meant:
        for path in [path for path in program.files if path.startswith(place)]:
            program.files.pop(path)


remounted(
    "an executed skill does not see its files",
    ["sandbox.skill-files"],
    lambda program: unmount(program, "/skills/", program.own),
)
remounted(
    "mounted skills have no files",
    ["sandbox.mounted-files"],
    lambda program: unmount(program, "/skills/", not program.own),
)
remounted("blobs are no files", ["sandbox.blob-files"], lambda program: unmount(program, "/blobs/"))
remounted(
    "code runs as root",
    ["sandbox.not-root"],
    lambda program: program.files.update({"/etc/shadow": b"root::"}),
)


@defect("code writes anywhere", "sandbox.not-root", "sandbox.skills-read-only")
def _(server):
    server.may_write = lambda path: True


@defect("skills can be changed", "sandbox.skills-read-only")
def _(server):
    server.may_write = lambda path: path.startswith(("/workspace/", "/skills/"))


@defect("blobs can be changed", "sandbox.blobs-read-only")
def _(server):
    server.may_write = lambda path: path.startswith(("/workspace/", "/blobs/"))

    def write_back(_, result, program, params):
        for blob in program.blobs:
            server.blobs[blob] = (program.files[f"/blobs/{blob}"], server.blobs[blob][1])

    after(server, "keep", write_back)


@defect("all blobs are mounted", "sandbox.blob-not-mounted")
def _(server):
    def mount(program, *_):
        program.files.update({f"/blobs/{blob}": data for blob, (data, _) in server.blobs.items()})
        return program

    after(server, "program", mount)


@defect("arguments are variables", "sandbox.args-no-variables")
def _(server):
    right = server.run

    def run(program, source, name, entrypoint, args, params):
        program.environment.update({key: str(value) for key, value in (args or {}).items() if key == "mark"})
        return right(program, source, name, entrypoint, args, params)

    server.run = run


@defect("code sees the server's secrets", "sandbox.environment")
def _(server):
    server.environment["SERVER_API_KEY"] = "secret"


@defect("code sees the server's environment", "sandbox.environment")
def _(server):
    server.environment.update({f"VARIABLE_{number}": "x" for number in range(20)})


@defect("code reaches the network", "sandbox.no-network")
def _(server):
    server.lets_connect = True


coded(
    "a run that was lost has completed",
    ["sandbox.survives"],
    lambda run, params: (
        changed(run, status="completed", output={})
        if run.get("error", {}).get("type") == "SandboxCrash"
        else run
    ),
)


@defect("a run that exits ends the server", "sandbox.survives")
def _(server):
    dead = []

    def note(run, params):
        if dead:
            raise Refused(-32603, "internal", "the sandbox is gone")
        if run.get("error", {}).get("type") == "SandboxCrash":
            dead.append(True)
        return run

    after(server, "run_code", note)
    # The other cases come to a server that was started again.
    before(server, "list_skills", lambda params: dead.clear())
    before(server, "create_blob", lambda params: dead.clear())
