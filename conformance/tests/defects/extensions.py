"""Defects of the extensions."""

import json

from ..refused import wrong
from .code import retyped
from .describing import described
from .executing import answer_if, coded, executed
from .listing import relisted
from .spoil import after, before, changed, defect, ignoring, recovering, simple, without


@defect(
    "errors without kinds",
    "ext.error-kind",
    "ext.inputs-checked",
    "ext.limits-beyond",
    "ext.error-parameter",
    "ext.skill-script-unknown",
)
def _(server):
    after(server, "refusal", lambda response, *_: changed(response, error=without(response["error"], "data")))


@defect("another kind for blobs", "ext.error-kind")
def _(server):
    after(
        server,
        "refusal",
        lambda response, id, refused: (
            (response["error"]["data"].update(kind="not_found") if refused.kind == "blob_not_found" else None)
            or response
        ),
    )


@defect("errors without parameters", "ext.error-parameter")
def _(server):
    after(
        server,
        "refusal",
        lambda response, *_: (response["error"]["data"].pop("parameter", None) and None) or response,
    )


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
described("no scripts in the description", ["ext.described-scripts"], lambda skill, params: skill.pop("scripts", None))
executed(
    "one stream for both",
    ["ext.skill-script"],
    lambda run, params: changed(run, stdout=run["stdout"] + run["stderr"], stderr="")
    if run.get("exit_code") == 0
    else run,
)
executed(
    "scripts never fail",
    ["ext.skill-script-exit"],
    lambda run, params: changed(run, status="completed") if "exit_code" in run else run,
)
ignoring("arguments of scripts are lost", ["ext.skill-script-exit"], "execute_skill", "argv")
ignoring("standard input of scripts is lost", ["ext.skill-script"], "execute_skill", "stdin")


@defect("any file is a script", "ext.skill-script-unknown")
def _(server):
    right = server.run_script

    def run_script(skill, params):
        return right(skill, {**params, "script": "scripts/words.py"})

    server.run_script = run_script




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
    server.checked_inputs = lambda skill, args: {
        **{
            name: entry["default"]
            for name, entry in skill.manifest.get("inputs", {}).items()
            if "default" in entry
        },
        **args,
    }


@defect("defaults are not filled in", "ext.inputs-defaults")
def _(server):
    right = server.checked_inputs

    def check(skill, args):
        right(skill, args)
        return dict(args)

    server.checked_inputs = check


@defect("blobs of inputs are not mounted", "ext.inputs-blobs")
def _(server):
    after(
        server,
        "program",
        lambda program, skills, blobs, *_: (
            program.blobs.clear() or program
            if skills and skills[0].name == "conformance.inputs.typed"
            else program
        ),
    )


coded(
    "summaries are the server's",
    ["ext.summary-of-program"],
    lambda run, params: changed(run, summary="Completed."),
)


@defect("a list is no output", "ext.other-values")
def _(server):
    after(server, "output_of", lambda output, value: {"value": value} if isinstance(value, list) else output)


coded("nothing is told of conversions", ["ext.converted"], lambda run, params: without(run, "converted"))


@defect("strict output is converted", "ext.strict-output")
def _(server):
    before(server, "run_code", lambda params: without(params, "strict_output"))


@defect("nothing is converted", "ext.converted")
def _(server):
    before(server, "run_code", lambda params: changed(params, strict_output=True))


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
coded(
    "files are not listed",
    ["ext.files", "ext.files-kept", "ext.files-named", "ext.blob-mounted-name"],
    lambda run, params: without(run, "files"),
)


@defect("all files are kept", "ext.files", "ext.files-kept")
def _(server):
    before(
        server,
        "run_code",
        lambda params: changed(params, keep_files=[""]) if "keep_files" in params else params,
    )


@defect("only figures are kept", "ext.files-kept", "ext.files-named")
def _(server):
    right = server.keeps
    server.keeps = lambda path, wanted: right(path, wanted) if wanted is not None else path.endswith(".png")


@defect("hidden files are kept", "ext.files-kept")
def _(server):
    right = server.keeps
    server.keeps = lambda path, wanted: wanted is None or right(path, wanted)


@defect("files are kept that nobody wants", "ext.files-kept")
def _(server):
    right = server.keeps
    server.keeps = lambda path, wanted: right(path, None if wanted is False else wanted)


@defect("kept files have no names", "ext.files-named")
def _(server):
    after(
        server,
        "keep",
        lambda _, result, program, params: [server.names.pop(blob, None) for blob in program.made],
    )


@defect("blobs have no names", "ext.blob-name", "ext.files-named")
def _(server):
    server.with_name = lambda blob, found: found


@defect("the first name stays", "ext.blob-name")
def _(server):
    class Names(dict):
        def __setitem__(self, blob, name):
            self.setdefault(blob, name)

    server.names = Names()


@defect("names are paths", "ext.blob-name")
def _(server):
    server.is_name = lambda name: True


@defect("blobs are not mounted by name", "ext.blob-mounted-name")
def _(server):
    server.mounted_names = lambda blobs: {}


@defect("mounted files are results", "ext.blob-mounted-name")
def _(server):
    after(server, "program", lambda program, *_: program.mounted.clear() or program)


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
    simple(name, cases, "elsewhere", lambda answered, verb, place, *_: change(*answered, verb, place))


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
    lambda status, answer, verb, place: (
        (status, {"content": "x"}) if verb == "GET" and place.startswith("/v1/blobs/") else (status, answer)
    ),
)
elsewhere("no tools", ["ext.tools"], failing_at("/tools"))
elsewhere(
    "seven tools",
    ["ext.tools"],
    lambda status, answer, verb, place: (status, answer[:7] if place == "/tools" else answer),
)
elsewhere("not ready", ["ext.health"], failing_at("/readyz"))
elsewhere(
    "another protocol",
    ["ext.health"],
    lambda status, answer, verb, place: (status, {} if place == "/version" else answer),
)
elsewhere("no records of runs", ["ext.detach", "ext.cancel"], failing_at("/v1/runs"))
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
    recovering(
        server,
        "run_code",
        lambda refused, params: (
            answer_if(refused, "invalid_params", {"status": "completed", "output": {}})
            if refused.parameter == "idempotency_key"
            else answer_if(refused, None, None)
        ),
    )


@defect("time-outs beyond the limit are lowered", "ext.limits-beyond")
def _(server):
    server.timeout_of = lambda params: min(
        params.get("limits", {}).get("timeout_ms") or params.get("timeout_ms") or 30_000, 300_000
    )


retyped(
    "time-outs of another name",
    ["ext.timeout-type"],
    lambda name: "TimeoutError" if name == "Timeout" else name,
)
