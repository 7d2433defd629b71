"""Defects of execute_skill."""

import json
import types

from ..refused import Refused
from .describing import any_version, finding, first_by_text
from .spoil import after, before, changed, defect, filling, ignoring, lenient, recovering, simple, without

ECHO = "conformance.echo.args"
STEPS = "conformance.work.steps"


def executed(name, cases, change):
    """A defect in the results of execute_skill."""
    simple(name, cases, "execute_skill", change)


def coded(name, cases, change):
    """A defect in the results of run_code."""
    simple(
        name,
        cases,
        "run_code",
        lambda run, params: run if "status" in run and run["status"] == "running" else change(run, params),
    )


def is_echo(params):
    """Says whether the echo is executed, with arguments that are empty."""
    return params["name"] == ECHO and params.get("args") == {}


def step_of(params):
    """The step that is executed."""
    return (params.get("args") or {}).get("do")


executed(
    "another word for completed",
    ["execute.status"],
    lambda run, params: changed(run, status="success") if is_echo(params) else run,
)
executed("one id for all runs", ["execute.run-id"], lambda run, params: changed(run, run_id="run_1"))
executed("no ids of runs", ["execute.run-id"], lambda run, params: without(run, "run_id"))
executed("no summaries", ["execute.summary"], lambda run, params: without(run, "summary"))
executed(
    "no summaries of failed runs",
    ["execute.summary"],
    lambda run, params: changed(run, summary="") if run["status"] == "failed" else run,
)


def rounded(value):
    """A JSON value whose floats are whole numbers."""
    return json.loads(json.dumps(value), parse_float=lambda text: int(float(text)))


@defect("arguments are rounded when a skill is executed", "execute.args")
def _(server):
    before(server, "execute_skill", lambda params: changed(params, args=rounded(params.get("args", {}))))


@defect("no arguments are null", "execute.args-left-out")
def _(server):
    right = server.run

    def run(program, source, name, entrypoint, args, params):
        return right(program, source, name, entrypoint, args if args or params else None, params)

    def execute(right_execute, params):
        server.run = run if "args" not in params else right
        try:
            return right_execute(params)
        finally:
            server.run = right

    right_execute = server.execute_skill
    server.execute_skill = lambda params: execute(right_execute, params)


lenient("any arguments of a skill", ["execute.args-wrong"], "execute_skill", "args", {})
executed(
    "the output is an object around the output",
    ["execute.output", "execute.export"],
    lambda run, params: (
        changed(run, output={"value": run["output"]}) if run["output"] == {"called": "begin"} else run
    ),
)
executed(
    "the output has a further member",
    ["execute.output"],
    lambda run, params: (
        changed(run, output={**run["output"], "ok": True}) if run["output"] == {"called": "begin"} else run
    ),
)


@defect("large outputs are not shortened", "execute.output-limit", "ext.large-output")
def _(server):
    server.shorten = lambda result, program: None


def printed(server, is_kept):
    """Loses a part of the log."""
    right = server.preview_of
    server.preview_of = lambda log: right("".join(line + "\n" for line in log.splitlines() if is_kept(line)))


@defect("logged lines are lost", "execute.logs", "code.logs")
def _(server):
    printed(server, lambda line: not line.startswith("[info]"))


@defect(
    "printed lines are lost",
    *("execute.logs", "execute.logs-limit", "code.logs", "code.logs-of-failed", "ext.script", "ext.events"),
)
def _(server):
    printed(server, lambda line: line.startswith("[info]"))


@defect("logs are not cut", "execute.logs-limit")
def _(server):
    server.preview_of = lambda log: log


executed(
    "blobs of a skill are not told",
    ["execute.output-blobs", "ext.large-output"],
    lambda run, params: changed(run, output_blobs=[]),
)


@defect("blobs of a run are gone", "execute.output-blobs")
def _(server):
    def forget(run, params):
        if step_of(params) == "write_blob":
            for blob in run["output_blobs"]:
                server.blobs.pop(blob)
        return run

    after(server, "execute_skill", forget)


ignoring(
    "blobs of a skill are not mounted",
    ["execute.input-blobs", "execute.input-blob-unknown"],
    "execute_skill",
    "input_blobs",
)


@defect("missing blobs are not mounted", "execute.input-blob-unknown")
def _(server):
    def change(params):
        blobs = [blob for blob in params.get("input_blobs", []) if blob in server.blobs]
        return changed(params, input_blobs=blobs)

    before(server, "execute_skill", change)


def refusing_failures(name, cases, method, types):
    """A defect that tells failed runs as errors of the call."""

    def change(run, params):
        if run.get("status") == "failed" and run["error"]["type"] in types:
            raise Refused(-32603, "internal", "the run has failed")
        return run

    simple(name, cases, method, change)


refusing_failures(
    "exceptions of skills are errors of the call",
    ["execute.status", "execute.summary", "execute.failed-error", "execute.failed-is-result"],
    "execute_skill",
    ["ValueError"],
)
executed(
    "errors of skills have no type",
    ["execute.failed-error"],
    lambda run, params: changed(run, error={"message": "a value is wrong"}) if "error" in run else run,
)
executed(
    "errors of skills have no message",
    ["execute.failed-error"],
    lambda run, params: changed(run, error={"type": "ValueError", "message": ""}) if "error" in run else run,
)


@defect(
    "the function is always called main",
    *("execute.output", "execute.export", "execute.helper-modules", "sandbox.skill-files"),
)
def _(server):
    def execute(right, params):
        skill = server.find(params)
        runtime = skill.manifest.get("runtime", {})
        kept = runtime.get("export")
        if kept:
            runtime["export"] = "main"
        try:
            return right(params)
        finally:
            if kept:
                runtime["export"] = kept

    right = server.execute_skill
    server.execute_skill = lambda params: execute(right, params)


@defect("helper modules are not found", "execute.helper-modules")
def _(server):
    server.helper_path = lambda skill, name: f"{name}.py"


@defect("instructions are executed", "execute.instruction", "ext.error-kind")
def _(server):
    run = {"status": "completed", "run_id": "run_1", "summary": "Read.", "output": {}}
    recovering(server, "execute_skill", lambda refused, params: answer_if(refused, "not_executable", run))


@defect("missing skills are executed", "execute.unknown")
def _(server):
    run = {"status": "failed", "run_id": "run_1", "summary": "There is none."}
    recovering(server, "execute_skill", lambda refused, params: answer_if(refused, "skill_not_found", run))


def answer_if(refused, kind, answer):
    """Answers one kind of refusals."""
    if refused.kind != kind:
        raise refused
    return answer


filling(
    "a skill without a name is executed",
    ["execute.name-required", "rpc.params-invalid"],
    "execute_skill",
    "name",
    ECHO,
)
ignoring(
    "versions are ignored when executed",
    ["execute.version", "execute.version-unknown"],
    "execute_skill",
    "version",
)
finding("versions are compared as texts when executed", ["execute.version"], "execute_skill", first_by_text)
finding("another version is executed", ["execute.version-unknown"], "execute_skill", any_version)


@defect("time-outs of skills are ignored", "execute.timeout")
def _(server):
    before(server, "execute_skill", lambda params: changed(params, timeout_ms=200_000))


executed(
    "runs that were stopped have completed",
    ["execute.timeout"],
    lambda run, params: (
        changed(run, status="completed") if run.get("error", {}).get("type") == "Timeout" else run
    ),
)


@defect("sleeping costs no time", "execute.timeout", "code.timeout-sleep", "code.timeout-beside")
def _(server):
    def program(made, *_):
        made.modules["time"] = types.SimpleNamespace(sleep=lambda seconds: None)
        return made

    after(server, "program", program)
