"""Defects of runs, of the sandbox and of the extensions, each with the cases that must fail."""

import json
import types

from .defects import (
    after,
    any_version,
    before,
    changed,
    defect,
    described,
    filling,
    finding,
    first_by_text,
    ignoring,
    lenient,
    recovering,
    relisted,
    simple,
    without,
)
from .stand_in import Refused, wrong

ECHO = "conformance.echo.args"
STEPS = "conformance.work.steps"


def executed(name, cases, change):
    """A defect in the results of execute_skill."""
    simple(name, cases, "execute_skill", change)


def coded(name, cases, change):
    """A defect in the results of run_code."""
    simple(name, cases, "run_code", lambda run, params: run if "status" in run and run["status"] == "running" else change(run, params))


def is_echo(params):
    """Says whether the echo is executed, with arguments that are empty."""
    return params["name"] == ECHO and params.get("args") == {}


def step_of(params):
    """The step that is executed."""
    return (params.get("args") or {}).get("do")


# execute_skill

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
    lambda run, params: changed(run, output={"value": run["output"]}) if run["output"] == {"called": "begin"} else run,
)
executed(
    "the output has a further member",
    ["execute.output"],
    lambda run, params: changed(run, output={**run["output"], "ok": True}) if run["output"] == {"called": "begin"} else run,
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


executed("blobs of a skill are not told", ["execute.output-blobs", "ext.large-output"], lambda run, params: changed(run, output_blobs=[]))


@defect("blobs of a run are gone", "execute.output-blobs")
def _(server):
    def forget(run, params):
        if step_of(params) == "write_blob":
            for blob in run["output_blobs"]:
                server.blobs.pop(blob)
        return run

    after(server, "execute_skill", forget)


ignoring("blobs of a skill are not mounted", ["execute.input-blobs", "execute.input-blob-unknown"], "execute_skill", "input_blobs")


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


filling("a skill without a name is executed", ["execute.name-required", "rpc.params-invalid"], "execute_skill", "name", ECHO)
ignoring("versions are ignored when executed", ["execute.version", "execute.version-unknown"], "execute_skill", "version")
finding("versions are compared as texts when executed", ["execute.version"], "execute_skill", first_by_text)
finding("another version is executed", ["execute.version-unknown"], "execute_skill", any_version)


@defect("time-outs of skills are ignored", "execute.timeout")
def _(server):
    before(server, "execute_skill", lambda params: changed(params, timeout_ms=200_000))


executed(
    "runs that were stopped have completed",
    ["execute.timeout"],
    lambda run, params: changed(run, status="completed") if run.get("error", {}).get("type") == "Timeout" else run,
)


@defect("sleeping costs no time", "execute.timeout", "code.timeout-sleep", "code.timeout-beside")
def _(server):
    def program(made, *_):
        made.modules["time"] = types.SimpleNamespace(sleep=lambda seconds: None)
        return made

    after(server, "program", program)


# run_code


def as_text(output):
    """An output whose numbers are texts."""
    return {key: str(value) if type(value) is int else value for key, value in output.items()}


coded(
    "numbers become texts",
    ["code.result", "ext.script"],
    lambda run, params: changed(run, output=as_text(run["output"])) if isinstance(run["output"], dict) else run,
)
coded("one id for all runs of code", ["code.run-members"], lambda run, params: changed(run, run_id="run_1"))
coded(
    "runs of code without a summary",
    ["code.run-members", "ext.summary-of-program"],
    lambda run, params: changed(run, summary=""),
)


@defect("arguments of code are rounded", "code.args")
def _(server):
    before(server, "run_code", lambda params: changed(params, args=rounded(params["args"])) if "args" in params else params)


@defect("no arguments of code are null", "code.args-left-out")
def _(server):
    before(server, "run_code", lambda params: changed({"args": None}, **params))


@defect("the first function is called", "code.entrypoint-default")
def _(server):
    before(server, "run_code", lambda params: changed({"entrypoint": "other"}, **params) if "def other(" in params["code"] else params)


ignoring("the entrypoint is ignored", ["code.entrypoint", "code.entrypoint-missing"], "run_code", "entrypoint")


@defect("a missing function has nothing to do", "code.entrypoint-missing")
def _(server):
    after(server, "run_code", lambda run, params: changed(run, status="completed", output={}) if params.get("entrypoint") == "missing" else run)


filling("code of no language", ["code.language-required"], "run_code", "language", "python")
lenient("code of any language", ["code.language-unknown"], "run_code", "language", "python")
filling("no code is run", ["code.code-required"], "run_code", "code", "1")
refusing_failures("exceptions of code are errors of the call", ["code.exception"], "run_code", ["ZeroDivisionError"])
refusing_failures("wrong syntax is an error of the call", ["code.syntax-error"], "run_code", ["SyntaxError"])


def retyped(name, cases, change):
    """A defect in the types of errors."""

    def apply(run, params):
        if isinstance(run.get("error"), dict):
            run["error"]["type"] = change(run["error"]["type"])
        return run

    coded(name, cases, apply)


BUILT_IN = ("KeyError", "ValueError", "Timeout", "SyntaxError", "NameError", "SandboxCrash")
retyped("all errors have one type", ["code.error", "code.error-own-class", "ext.timeout-type"], lambda name: "Error")
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
    lambda run, params: changed(run, status="completed", output={}) if run.get("error", {}).get("type") == "SystemExit" else run,
)


@defect("values become texts", "code.output-not-json")
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
ignoring("blobs of code are not mounted", ["code.read-text", "sandbox.blob-files"], "run_code", "input_blobs")
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
        return changed(params, mount_skills=[name for name in params.get("mount_skills", []) if name in names])

    before(server, "run_code", change)


coded(
    "loops that were stopped have completed",
    ["code.timeout-loop", "ext.timeout-type"],
    lambda run, params: changed(run, status="completed") if "while True" in params["code"] else run,
)


@defect("time-outs beside limits are ignored", "code.timeout-beside")
def _(server):
    before(server, "run_code", lambda params: changed(without(params, "timeout_ms"), limits={"timeout_ms": 200_000}) if "timeout_ms" in params else params)


# The sandbox


@defect("files stay", "sandbox.files-gone", "ext.files")
def _(server):
    left = {}
    server.left_files = lambda: left
    after(server, "keep", lambda _, result, program, params: left.update({path: data for path, data in program.files.items() if path.startswith("/workspace/")}))


@defect("one interpreter for all runs", "sandbox.memory-gone")
def _(server):
    kept = types.SimpleNamespace()
    server.guest_builtins = lambda: kept


@defect("no workspace", "sandbox.workspace", "sandbox.files-gone", "ext.files")
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


remounted("an executed skill does not see its files", ["sandbox.skill-files"], lambda program: unmount(program, "/skills/", program.own))
remounted(
    "mounted skills have no files", ["sandbox.mounted-files"], lambda program: unmount(program, "/skills/", not program.own)
)
remounted("blobs are no files", ["sandbox.blob-files"], lambda program: unmount(program, "/blobs/"))
remounted("code runs as root", ["sandbox.not-root"], lambda program: program.files.update({"/etc/shadow": b"root::"}))


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
    lambda run, params: changed(run, status="completed", output={}) if run.get("error", {}).get("type") == "SandboxCrash" else run,
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


# Extensions


@defect("errors without kinds", "ext.error-kind", "ext.inputs-checked", "ext.limits-beyond", "ext.error-parameter")
def _(server):
    after(server, "refusal", lambda response, *_: changed(response, error=without(response["error"], "data")))


@defect("another kind for blobs", "ext.error-kind")
def _(server):
    after(server, "refusal", lambda response, id, refused: (response["error"]["data"].update(kind="not_found") if refused.kind == "blob_not_found" else None) or response)


@defect("errors without parameters", "ext.error-parameter")
def _(server):
    after(server, "refusal", lambda response, *_: (response["error"]["data"].pop("parameter", None) and None) or response)


@defect("unknown parameters are ignored", "ext.unknown-parameter")
def _(server):
    right = server.check_params

    def check(method, params):
        if isinstance(params, dict):
            params.pop("limits", None) if method == "list_skills" else None
        return right(method, params)

    server.check_params = check


@defect("the last of two members counts", "ext.duplicate-member")
def _(server):
    server.parse = lambda body: json.loads(body.decode())


relisted("no tags in the list", ["ext.tags"], lambda shown, *_: without(shown, "tags"))
described("no schema of inputs", ["ext.input-schema"], lambda skill, params: skill.pop("input_schema", None))


@defect("files are text", "ext.binary-file")
def _(server):
    after(server, "read_skill_file", lambda found, params: without(found, "encoding"))


@defect("names without versions", "ext.name-at-version")
def _(server):
    def check(params):
        if "@" in params["name"]:
            raise wrong("name")

    before(server, "execute_skill", check)


@defect("inputs are not checked", "ext.inputs-checked")
def _(server):
    server.checked_inputs = lambda skill, args: {**{name: entry["default"] for name, entry in skill.manifest.get("inputs", {}).items() if "default" in entry}, **args}


@defect("defaults are not filled in", "ext.inputs-defaults")
def _(server):
    right = server.checked_inputs

    def check(skill, args):
        right(skill, args)
        return dict(args)

    server.checked_inputs = check


@defect("blobs of inputs are not mounted", "ext.inputs-blobs")
def _(server):
    after(server, "program", lambda program, skills, blobs, *_: program.blobs.clear() or program if skills and skills[0].name == "conformance.inputs.typed" else program)


coded("summaries are the server's", ["ext.summary-of-program"], lambda run, params: changed(run, summary="Completed."))


@defect("a list is no output", "ext.other-values")
def _(server):
    after(server, "output_of", lambda output, value: {"value": value} if isinstance(value, list) else output)


executed(
    "large outputs are not marked",
    ["ext.large-output"],
    lambda run, params: without(run, "output_truncated"),
)
coded("no measurements", ["ext.measurements"], lambda run, params: without(run, "duration_ms"))
coded(
    "no tracebacks",
    ["ext.traceback"],
    lambda run, params: changed(run, error=without(run["error"], "traceback")) if "error" in run else run,
)
coded(
    "no scripts",
    ["ext.script"],
    lambda run, params: run if "def main(" in params["code"] else changed(run, output=None),
)
coded("files are not listed", ["ext.files"], lambda run, params: without(run, "files"))


@defect("all files are kept", "ext.files")
def _(server):
    before(server, "run_code", lambda params: changed(params, keep_files=[""]) if "keep_files" in params else params)


@defect("content is always text", "ext.blob-encoding")
def _(server):
    before(server, "create_blob", lambda params: without(params, "encoding"))


simple("no size when read", ["ext.blob-size"], "read_blob", lambda found, _: without(found, "size_bytes"))


@defect("every blob has an id of its own", "ext.blob-same-id", "ext.blob-stream")
def _(server):
    right, count = server.store_blob, []

    def store(data, kind):
        count.append(1)
        blob = f"{right(data, kind)}{len(count)}"
        server.blobs[blob] = (data, kind)
        return blob

    server.store_blob = store


def elsewhere(name, cases, change):
    """A defect beside the endpoint: `change(status, answer, verb, place)` gives another answer."""
    simple(name, cases, "other", lambda answered, verb, place, *_: change(*answered, verb, place))


def failing_at(*places):
    """Answers 404 at a place."""

    def change(status, answer, verb, place):
        is_meant = any(place.startswith(one) for one in places)
        return (404, {}) if is_meant else (status, answer)

    return change


elsewhere("no streams of blobs", ["ext.blob-stream"], failing_at("/v1/blobs"))
elsewhere(
    "downloads are wrapped",
    ["ext.blob-stream"],
    lambda status, answer, verb, place: (status, {"content": "x"}) if verb == "GET" and place.startswith("/v1/blobs/") else (status, answer),
)
elsewhere("no tools", ["ext.tools"], failing_at("/tools"))
elsewhere("seven tools", ["ext.tools"], lambda status, answer, verb, place: (status, answer[:7] if place == "/tools" else answer))
elsewhere("not ready", ["ext.health"], failing_at("/readyz"))
elsewhere("another protocol", ["ext.health"], lambda status, answer, verb, place: (status, {} if place == "/version" else answer))
elsewhere(
    "no records of runs", ["ext.detach", "ext.cancel"], failing_at("/v1/runs")
)
elsewhere(
    "runs cannot be cancelled",
    ["ext.cancel"],
    lambda status, answer, verb, place: (405, {}) if place.endswith("/cancel") else (status, answer),
)


@defect("no events", "ext.events")
def _(server):
    right = server.rpc
    server.rpc = lambda headers, body: right({}, body)


@defect("events without the output", "ext.events")
def _(server):
    after(server, "events", lambda told, answer: told.split(b"\n\n", 1)[1])


ignoring("no run is detached", ["ext.detach", "ext.cancel"], "run_code", "detach")
ignoring("keys are ignored", ["ext.idempotency"], "run_code", "idempotency_key")


@defect("one answer for a key, whatever the call is", "ext.idempotency")
def _(server):
    recovering(server, "run_code", lambda refused, params: answer_if(refused, "invalid_params", {"status": "completed", "output": {}}) if refused.parameter == "idempotency_key" else answer_if(refused, None, None))


@defect("time-outs beyond the limit are lowered", "ext.limits-beyond")
def _(server):
    server.timeout_of = lambda params: min(params.get("limits", {}).get("timeout_ms") or params.get("timeout_ms") or 30_000, 300_000)


retyped("time-outs of another name", ["ext.timeout-type"], lambda name: "TimeoutError" if name == "Timeout" else name)
