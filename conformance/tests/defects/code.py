"""Defects of run_code."""

import json

from .executing import coded, refusing_failures, rounded
from .spoil import after, before, changed, defect, filling, ignoring, lenient, without


def as_text(output):
    """An output whose numbers are texts."""
    return {key: str(value) if type(value) is int else value for key, value in output.items()}


coded(
    "numbers become texts",
    ["code.result", "ext.script"],
    lambda run, params: (
        changed(run, output=as_text(run["output"])) if isinstance(run["output"], dict) else run
    ),
)
coded("one id for all runs of code", ["code.run-members"], lambda run, params: changed(run, run_id="run_1"))
coded(
    "runs of code without a summary",
    ["code.run-members", "ext.summary-of-program"],
    lambda run, params: changed(run, summary=""),
)


@defect("arguments of code are rounded", "code.args")
def _(server):
    before(
        server,
        "run_code",
        lambda params: changed(params, args=rounded(params["args"])) if "args" in params else params,
    )


@defect("no arguments of code are null", "code.args-left-out")
def _(server):
    before(server, "run_code", lambda params: changed({"args": None}, **params))


@defect("the first function is called", "code.entrypoint-default")
def _(server):
    before(
        server,
        "run_code",
        lambda params: (
            changed({"entrypoint": "other"}, **params) if "def other(" in params["code"] else params
        ),
    )


ignoring(
    "the entrypoint is ignored", ["code.entrypoint", "code.entrypoint-missing"], "run_code", "entrypoint"
)


@defect("a missing function has nothing to do", "code.entrypoint-missing")
def _(server):
    after(
        server,
        "run_code",
        lambda run, params: (
            changed(run, status="completed", output={}) if params.get("entrypoint") == "missing" else run
        ),
    )


filling("code of no language", ["code.language-required"], "run_code", "language", "python")
lenient("code of any language", ["code.language-unknown"], "run_code", "language", "python")
filling("no code is run", ["code.code-required"], "run_code", "code", "1")
refusing_failures(
    "exceptions of code are errors of the call", ["code.exception"], "run_code", ["ZeroDivisionError"]
)
refusing_failures("wrong syntax is an error of the call", ["code.syntax-error"], "run_code", ["SyntaxError"])


def retyped(name, cases, change):
    """A defect in the types of errors."""

    def apply(run, params):
        if isinstance(run.get("error"), dict):
            run["error"]["type"] = change(run["error"]["type"])
        return run

    coded(name, cases, apply)


BUILT_IN = ("KeyError", "ValueError", "Timeout", "SyntaxError", "NameError", "SandboxCrash")
retyped(
    "all errors have one type",
    ["code.error", "code.error-own-class", "ext.timeout-type"],
    lambda name: "Error",
)
retyped(
    "own classes are exceptions",
    ["code.error-own-class"],
    lambda name: name if name in BUILT_IN else "Exception",
)
coded(
    "errors have no message",
    ["code.error"],
    lambda run, params: changed(run, error=changed(run["error"], message="")) if "error" in run else run,
)
coded(
    "any exit is a good one",
    ["code.exit"],
    lambda run, params: (
        changed(run, status="completed", output={})
        if run.get("error", {}).get("type") == "SystemExit"
        else run
    ),
)


@defect("values become texts", "code.output-not-json", "ext.strict-output")
def _(server):
    after(server, "output_of", lambda output, value: json.loads(json.dumps(output, default=str)))


coded(
    "failed runs have no log",
    ["code.logs-of-failed"],
    lambda run, params: changed(run, logs_preview="") if run["status"] == "failed" else run,
)
coded(
    "logs of code are lost",
    ["code.logs", "code.logs-of-failed", "ext.script", "ext.events"],
    lambda run, params: changed(run, logs_preview=""),
)
coded("blobs of code are not told", ["code.write-text"], lambda run, params: changed(run, output_blobs=[]))
ignoring(
    "blobs of code are not mounted",
    ["code.read-text", "sandbox.blob-files", "ext.blob-mounted-name"],
    "run_code",
    "input_blobs",
)
ignoring(
    "skills are not mounted",
    ["code.mount-skills", "code.mount-unknown", "sandbox.mounted-files"],
    "run_code",
    "mount_skills",
)


@defect("skills cannot be imported", "code.mount-skills")
def _(server):
    server.importable = lambda name, mounted: None


@defect("all skills can be imported", "code.not-mounted")
def _(server):
    server.importable = lambda name, mounted: next(skill for skill in server.skills if skill.name == name)


@defect("missing skills are not mounted", "code.mount-unknown")
def _(server):
    def change(params):
        names = [skill.name for skill in server.skills]
        return changed(
            params, mount_skills=[name for name in params.get("mount_skills", []) if name in names]
        )

    before(server, "run_code", change)


coded(
    "loops that were stopped have completed",
    ["code.timeout-loop", "ext.timeout-type"],
    lambda run, params: changed(run, status="completed") if "while True" in params["code"] else run,
)


@defect("time-outs beside limits are ignored", "code.timeout-beside")
def _(server):
    before(
        server,
        "run_code",
        lambda params: (
            changed(without(params, "timeout_ms"), limits={"timeout_ms": 200_000})
            if "timeout_ms" in params
            else params
        ),
    )
