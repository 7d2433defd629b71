"""Extensions of the protocol that Wardian has. No other server has to pass these cases."""

import base64
import json
import time
import uuid

from ..case import EXTENSION, WARDIAN, case, expect, expect_equal, shown
from ..session import completed, failed
from ..skills_folder import OLDER_VERSION, content

ECHO = "conformance.echo.args"
FULL = "conformance.manifest.full"
GUIDE = "conformance.guide.reading"
INPUTS = "conformance.inputs.typed"
MANY = "conformance.versions.many"
STEPS = "conformance.work.steps"
RESULTS = "Results of runs"


def kind_of(error):
    """`data.kind` of an error."""
    data = error.get("data")
    expect(isinstance(data, dict), f"`error.data` is an object, got {shown(data)}")
    return data.get("kind")


def get(session, path):
    """Status and JSON of a path beside the endpoint."""
    reply = session.send(b"", "GET", path)
    return reply.status, session.json_of(reply)


@case("ext.error-kind", EXTENSION, WARDIAN("Errors", "`data.kind` of an error names its kind."), (GUIDE,))
def error_kind(session):
    """Errors of calls have the `data.kind` of the table of errors."""
    for wanted, method, params in (
        ("method_not_found", "no_such_method", {}),
        ("invalid_params", "describe_skill", {}),
        ("skill_not_found", "describe_skill", {"name": "conformance.no.such"}),
        ("version_not_found", "describe_skill", {"name": GUIDE, "version": "9.9.9"}),
        ("file_not_found", "read_skill_file", {"name": GUIDE, "path": "no.md"}),
        ("not_executable", "execute_skill", {"name": GUIDE}),
        ("blob_not_found", "read_blob", {"blob_id": session.create_blob("a")[:-4] + "aaaa"}),
    ):
        expect_equal(
            kind_of(session.error(method, **params)), wanted, f"`data.kind` of `{method}` with {params}"
        )


@case("ext.error-parameter", EXTENSION, WARDIAN("Errors", "`data.parameter` names the wrong parameter."))
def error_parameter(session):
    """An error about a parameter names it."""
    error = session.error("list_skills", limit="two")
    expect_equal((error.get("data") or {}).get("parameter"), "limit", "`data.parameter`")


@case("ext.unknown-parameter", EXTENSION, WARDIAN("Strictness", "An unknown parameter is refused."))
def unknown_parameter(session):
    """A parameter that the method does not have is refused."""
    expect_equal(session.error("list_skills", limits=3).get("code"), -32602, "`error.code`")


@case(
    "ext.duplicate-member", EXTENSION, WARDIAN("Strictness", "The same member twice in an object is refused.")
)
def duplicate_member(session):
    """A body with a member twice is answered with -32600."""
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "list_skills", "params": {"limit": 1, "limit": 2}}'
    response = session.json_of(session.send(body))
    expect_equal((response.get("error") or {}).get("code"), -32600, "`error.code`")


@case("ext.tags", EXTENSION, WARDIAN("list_skills", "A summary has `tags`."), (ECHO,))
def tags(session):
    """With \"summary\" a listed skill has the tags of its manifest."""
    listed = session.list_all(namespace="conformance", detail="summary")
    found = [skill.get("tags") for skill in listed if skill.get("name") == ECHO]
    expect_equal(found, [["conformance", "echo"]], "`tags`")


@case(
    "ext.input-schema",
    EXTENSION,
    WARDIAN("describe_skill", 'With "full", `input_schema` of an action says what `args` may be.'),
    (INPUTS,),
)
def input_schema(session):
    """`input_schema` is a JSON Schema with the inputs of the manifest."""
    schema = session.call("describe_skill", name=INPUTS, detail="full")["skill"].get("input_schema")
    expect(isinstance(schema, dict), f"an object, got {shown(schema)}")
    expect_equal(schema.get("type"), "object", "`type`")
    expect_equal(sorted(schema.get("properties", {})), ["count", "note_blob", "unit"], "the properties")
    expect_equal(schema.get("required"), ["count"], "`required`")


@case(
    "ext.binary-file",
    EXTENSION,
    WARDIAN("read_skill_file", "A file that is not UTF-8 comes as base64, with `encoding`."),
    (GUIDE,),
)
def binary_file(session):
    """A file that is no text is read as base64."""
    found = session.call("read_skill_file", name=GUIDE, path="resources/bytes.bin")
    expect_equal(found.get("encoding"), "base64", "`encoding`")
    expect_equal(base64.b64decode(found["content"]), content(GUIDE, "resources/bytes.bin"), "the bytes")


@case(
    "ext.name-at-version",
    EXTENSION,
    WARDIAN("execute_skill", "`name` can be `name@version`."),
    (MANY, OLDER_VERSION),
)
def name_at_version(session):
    """`name@version` executes that version."""
    run = session.execute(f"{MANY}@1.9.0", {})
    expect_equal(completed(run).get("version"), "1.9.0", "the version that was executed")


@case(
    "ext.inputs-checked",
    EXTENSION,
    WARDIAN("execute_skill", "Arguments are checked against the inputs of the manifest."),
    (INPUTS,),
)
def inputs_checked(session):
    """Arguments of a wrong type, and a call without a required one, are refused."""
    for wrong in ({"count": "three"}, {}):
        error = session.error("execute_skill", name=INPUTS, args=wrong)
        expect_equal(kind_of(error), "invalid_params", "`data.kind`")


@case(
    "ext.inputs-defaults", EXTENSION, WARDIAN("execute_skill", "Defaults of inputs are filled in."), (INPUTS,)
)
def inputs_defaults(session):
    """An argument that is left out has the default of the manifest."""
    expect_equal(completed(session.execute(INPUTS, {"count": 3})), {"count": 3, "unit": "metre"}, "`output`")


@case(
    "ext.inputs-blobs",
    EXTENSION,
    WARDIAN("execute_skill", "Blobs in inputs of type `blob` are mounted."),
    (INPUTS,),
)
def inputs_blobs(session):
    """A blob in an argument of the type `blob` is mounted without `input_blobs`."""
    output = completed(session.execute(INPUTS, {"count": 1, "note_blob": session.create_blob("a note")}))
    expect_equal(output.get("note"), "a note", "`note`")


@case(
    "ext.summary-of-program",
    EXTENSION,
    WARDIAN(RESULTS, "`summary` is the text `summary` of a returned object."),
)
def summary_of_program(session):
    """A program chooses its summary."""
    run = session.run("def main(args):\n    return {'summary': 'Three of four.', 'n': 3}\n")
    expect_equal(run.get("summary"), "Three of four.", "`summary`")


@case(
    "ext.other-values",
    EXTENSION,
    WARDIAN(RESULTS, 'Any other value than a dict becomes `{"result": value}`, `None` becomes null.'),
)
def other_values(session):
    """A returned list is `result` of an object; `None` is null."""
    expect_equal(
        session.run("def main(args):\n    return [1, 2]\n").get("output"), {"result": [1, 2]}, "`output`"
    )
    expect_equal(session.run("def main(args):\n    return None\n").get("output", 0), None, "`output`")


@case(
    "ext.converted",
    EXTENSION,
    WARDIAN("Converted values", "What JSON cannot hold is converted, and `converted` tells."),
)
def converted(session):
    """A date and a set have a form in JSON, and `converted` has their places and types."""
    code = """
import datetime

def main(args):
    day = datetime.date(2026, 1, 2)
    return {'rows': [{'when': day}, {'when': day}], 'names': {'b', 'a'}, 't': 'text'}
"""
    run = session.run(code)
    rows = [{"when": "2026-01-02"}, {"when": "2026-01-02"}]
    expect_equal(completed(run), {"rows": rows, "names": ["a", "b"], "t": "text"}, "`output`")
    entries = {entry.get("path"): entry for entry in run.get("converted", [])}
    expect_equal(sorted(entries), ["$.names", "$.rows[0].when"], "the paths of `converted`")
    when = entries["$.rows[0].when"]
    expect_equal(when.get("from"), "datetime.date", "`from`")
    expect_equal(when.get("count"), 2, "`count`")
    plain = session.run("def main(args):\n    return {'n': (1, 2)}\n")
    expect("converted" not in plain, "plain data is not told of")


@case(
    "ext.strict-output",
    EXTENSION,
    WARDIAN("Converted values", "`strict_output` refuses what JSON cannot hold."),
)
def strict_output(session):
    """With `strict_output` a date fails the run, and plain data does not."""
    code = "import datetime\n\ndef main(args):\n    return {'when': datetime.date(2026, 1, 2)}\n"
    failed(session.run(code, strict_output=True))
    plain = session.run("def main(args):\n    return {'t': 'text'}\n", strict_output=True)
    expect_equal(completed(plain), {"t": "text"}, "`output`")


@case(
    "ext.large-output",
    EXTENSION,
    WARDIAN(RESULTS, "More than 4,096 bytes of output become a blob."),
    (STEPS,),
)
def large_output(session):
    """A large output is a blob with all of it, and `output` tells its id, size and beginning."""
    run = session.step("return_much")
    expect_equal(run.get("output_truncated"), True, "`output_truncated`")
    output = completed(run)
    expect_equal(output.get("truncated"), True, "`output.truncated`")
    expect(output.get("blob_id") in run.get("output_blobs", []), "the blob is among `output_blobs`")
    whole = session.call("read_blob", blob_id=output["blob_id"], mode="full")["content"]
    expect_equal(len(whole.encode()), output.get("size_bytes"), "`output.size_bytes`")
    expect(len(json.loads(whole)["rows"]) == 4000, "the blob has all of the output")
    expect(whole.startswith(output.get("preview") or "\0"), "`preview` is the beginning")


@case(
    "ext.measurements",
    EXTENSION,
    WARDIAN(
        RESULTS, "Results have `duration_ms`, `memory_peak_bytes`, `logs_truncated` and `output_truncated`."
    ),
)
def measurements(session):
    """Results have measurements, and say whether something was left out."""
    run = session.run("def main(args):\n    return {}\n")
    for member in ("duration_ms", "memory_peak_bytes"):
        number = run.get(member)
        expect(
            isinstance(number, int) and number > 0, f"`{member}` is a positive integer, got {shown(number)}"
        )
    for member in ("logs_truncated", "output_truncated"):
        expect_equal(run.get(member), False, f"`{member}`")


@case(
    "ext.traceback", EXTENSION, WARDIAN(RESULTS, "`error.traceback` has the frames of the caller's own code.")
)
def traceback(session):
    """A failed run has a traceback with the line that raised."""
    error = failed(session.run("def main(args):\n    raise ValueError('line two')\n"))
    found = error.get("traceback")
    expect(isinstance(found, str) and "line 2" in found, f"the line, got {shown(found)}")


@case(
    "ext.script",
    EXTENSION,
    WARDIAN("Scripts", "Code without `main` runs as a script; its last expression is the output."),
)
def script(session):
    """Code without functions runs, with its last value as `output`."""
    run = session.run("print('from a script')\n{'answer': 6 * 7}\n")
    expect_equal(completed(run), {"answer": 42}, "`output`")
    expect("from a script" in run.get("logs_preview", ""), "the printed text is in the log")


SCRIPTS = "execute_skill"
WORDS = "scripts/words.py"


@case(
    "ext.skill-script",
    EXTENSION,
    WARDIAN(SCRIPTS, "`script` runs a Python file of the skill, with `argv` and `stdin`."),
    (ECHO,),
)
def skill_script(session):
    """A script of a skill has its standard input, and its two streams are told apart."""
    run = session.call("execute_skill", name=ECHO, script=WORDS, stdin="read")
    expect_equal(run.get("status"), "completed", "`status`")
    expect_equal(run.get("exit_code"), 0, "`exit_code`")
    expect_equal(run.get("stdout"), " read\n", "`stdout`")
    expect_equal(run.get("stderr"), "to the error stream\n", "`stderr`")


@case(
    "ext.skill-script-exit",
    EXTENSION,
    WARDIAN(SCRIPTS, "A script with another exit code than 0 has failed, and loses no output."),
    (ECHO,),
)
def skill_script_exit(session):
    """A script that ends with another exit code is a failed run, with the code and all that it wrote."""
    run = session.call("execute_skill", name=ECHO, script=WORDS, argv=["a b", "-c", "-c"])
    expect_equal(run.get("status"), "failed", "`status`")
    expect_equal(run.get("exit_code"), 3, "`exit_code`")
    expect_equal(run.get("stdout"), "a b -c -c \n", "`stdout`")


@case(
    "ext.skill-script-unknown",
    EXTENSION,
    WARDIAN(SCRIPTS, "`script` names a script of the skill."),
    (ECHO,),
)
def skill_script_unknown(session):
    """A script that the skill does not have is refused, and so are other files."""
    for path in ("scripts/none.py", "../scripts/words.py", "SKILL.md"):
        error = session.error("execute_skill", name=ECHO, script=path)
        expect_equal(kind_of(error), "invalid_params", f"`data.kind` for {path}")


@case(
    "ext.described-scripts",
    EXTENSION,
    WARDIAN("describe_skill", 'With "full", `scripts` lists the scripts of the skill.'),
    (ECHO,),
)
def described_scripts(session):
    """With \"full\" a skill has its scripts, each with the first line of its help."""
    skill = session.call("describe_skill", name=ECHO, detail="full")["skill"]
    help_line = "Prints its command line and what it reads."
    expect_equal(skill.get("scripts"), [{"path": WORDS, "help": help_line}], "`scripts`")


@case(
    "ext.files",
    EXTENSION,
    WARDIAN("Files of a run", "`keep_files` decides which files of `/workspace` become blobs."),
)
def files(session):
    """Files that a run leaves are listed, and kept if a pattern names them."""
    code = """
def main(args):
    for name in ('a.csv', 'b.txt'):
        open(name, 'w').write(name)
    return {}
"""
    run = session.run(code, keep_files=["*.csv"])
    completed(run)
    listed = {file["path"]: file for file in run.get("files", [])}
    expect_equal(sorted(listed), ["a.csv", "b.txt"], "the paths")
    kept = session.call("read_blob", blob_id=listed["a.csv"].get("blob_id"))
    expect_equal(kept["content"], "a.csv", "`content` of the kept file")
    expect("blob_id" not in listed["b.txt"], "the other file is not kept")


@case(
    "ext.files-kept",
    EXTENSION,
    WARDIAN("Files of a run", "Without `keep_files`, all files that a run leaves are kept."),
)
def files_kept(session):
    """Files that a run leaves are kept without being asked for, hidden ones and those of `false` not."""
    code = """
def main(args):
    for name in ('report.bin', '.hidden'):
        open(name, 'w').write(name)
    return {}
"""
    run = session.run(code)
    completed(run)
    listed = {file["path"]: file for file in run.get("files", [])}
    blob = listed.get("report.bin", {}).get("blob_id")
    kept = session.call("read_blob", blob_id=blob)
    expect_equal(kept["content"], "report.bin", "`content` of the kept file")
    expect("blob_id" not in listed.get(".hidden", {}), "the hidden file is not kept")
    run = session.run(code, keep_files=False)
    completed(run)
    kept = [file["path"] for file in run.get("files", []) if "blob_id" in file]
    expect_equal(kept, [], "the files that `keep_files: false` keeps")


@case(
    "ext.files-named",
    EXTENSION,
    WARDIAN("Files of a run", "The blob of a file has the file's name."),
)
def files_named(session):
    """The blob of a file that a run leaves is named as the file."""
    run = session.run("def main(args):\n    open('report 1.csv', 'w').write('a')\n    return {}\n")
    completed(run)
    listed = {file["path"]: file for file in run.get("files", [])}
    found = session.call("read_blob", blob_id=listed.get("report 1.csv", {}).get("blob_id"))
    expect_equal(found.get("name"), "report 1.csv", "`name`")


@case("ext.blob-name", EXTENSION, WARDIAN("create_blob", "A blob can have a `name`."))
def blob_name(session):
    """A blob has the name that it was given last; a name that is a path is refused."""
    for name in ("first.csv", "t\u00e4glich 2.csv"):
        created = session.call("create_blob", content="a,b", kind="text/csv", name=name)
        expect_equal(created.get("name"), name, "`name` of the answer")
    found = session.call("read_blob", blob_id=created["blob_id"])
    expect_equal(found.get("name"), name, "`name` of the blob")
    for name in ("../a", "a/b", "..", "", "a\nb"):
        session.error("create_blob", content="a", kind="text/csv", name=name)


@case("ext.blob-mounted-name", EXTENSION, WARDIAN("Blobs", "A mounted blob can be opened by its name."))
def blob_mounted_name(session):
    """A mounted blob is a file of its name; writing to the file does not change the blob."""
    blob = session.call("create_blob", content="x,y", kind="text/csv", name="sales.csv")["blob_id"]
    code = """
def main(args):
    read = open('sales.csv').read()
    if args['writes']:
        open('sales.csv', 'w').write('changed')
    return {'read': read}
"""
    run = session.run(code, {"writes": False}, input_blobs=[blob])
    expect_equal(completed(run).get("read"), "x,y", "the text")
    left = [file["path"] for file in run.get("files", [])]
    expect("sales.csv" not in left, "a file that is only read is not listed")
    run = session.run(code, {"writes": True}, input_blobs=[blob])
    completed(run)
    left = [file["path"] for file in run.get("files", [])]
    expect("sales.csv" in left, "a file that was changed is listed")
    expect_equal(session.call("read_blob", blob_id=blob)["content"], "x,y", "the blob afterwards")


@case("ext.blob-encoding", EXTENSION, WARDIAN("create_blob", "Content can be base64, with `encoding`."))
def blob_encoding(session):
    """Bytes are stored from base64 and read as base64."""
    data = bytes(range(256))
    text = base64.b64encode(data).decode()
    created = session.call("create_blob", content=text, kind="application/octet-stream", encoding="base64")
    expect_equal(created.get("size_bytes"), 256, "`size_bytes`")
    found = session.call("read_blob", blob_id=created["blob_id"], mode="full")
    expect_equal(found.get("encoding"), "base64", "`encoding`")
    expect_equal(base64.b64decode(found["content"]), data, "the bytes")


@case("ext.blob-size", EXTENSION, WARDIAN("read_blob", "`size_bytes` is the length of the whole blob."))
def blob_size(session):
    """read_blob tells the size of the whole blob, also if a part is shown."""
    found = session.call("read_blob", blob_id=session.create_blob("x" * 5000), max_bytes=10)
    expect_equal(found.get("size_bytes"), 5000, "`size_bytes`")


@case("ext.blob-same-id", EXTENSION, WARDIAN("Blobs", "Equal content of an equal kind has the same id."))
def blob_same_id(session):
    """The id follows from content and kind."""
    one = session.create_blob("the same content")
    expect_equal(session.create_blob("the same content"), one, "the id of equal content")
    expect(session.create_blob("the same content", "text/csv") != one, "another kind has another id")


@case("ext.blob-stream", EXTENSION, WARDIAN("Blobs", "`PUT` and `GET /v1/blobs` carry blobs as streams."))
def blob_stream(session):
    """A blob is uploaded with PUT, downloaded with GET, and has the same id by every way."""
    reply = session.send(b"a,b\n1,2\n", "PUT", "/v1/blobs", {"Content-Type": "text/csv"})
    expect(reply.status in (200, 201), f"HTTP 200 or 201, got {reply.status}")
    blob = session.json_of(reply).get("blob_id")
    expect_equal(blob, session.create_blob("a,b\n1,2\n", "text/csv"), "the id")
    expect_equal(session.send(b"", "GET", f"/v1/blobs/{blob}").body, b"a,b\n1,2\n", "the content")


@case(
    "ext.events",
    EXTENSION,
    WARDIAN("Runs as events", "With `Accept: text/event-stream` a run is answered with events."),
)
def events(session):
    """A run is told as events: its output first, its response last."""
    code = "def main(args):\n    print('told at once')\n    return {'done': True}\n"
    request = session.request("run_code", {"language": "python", "code": code})
    headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
    reply = session.send(json.dumps(request).encode(), headers=headers)
    kind = reply.headers.get("content-type", "")
    expect(kind.startswith("text/event-stream"), f"the type text/event-stream, got {kind!r}")
    told = []
    for block in reply.body.decode("utf-8").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and line[0] != ":")
        if "event" in fields:
            told.append((fields["event"], json.loads(fields["data"])))
    printed = "".join(data["text"] for event, data in told if event == "output")
    expect("told at once" in printed, f"the printed text, got {shown(printed)}")
    expect(told and told[-1][0] == "response", "the last event is the response")
    response = told[-1][1]
    expect_equal(response.get("id"), request["id"], "`id` of the response")
    expect_equal(completed(response.get("result", {})), {"done": True}, "`output`")


@case(
    "ext.detach",
    EXTENSION,
    WARDIAN(
        "Runs in the background", "With `detach` a call returns at once; `GET /v1/runs/{id}` has the result."
    ),
)
def detach(session):
    """A run goes on in the background, and its result is read when it has ended."""
    begun = session.run("def main(args):\n    return {'late': True}\n", detach=True)
    expect(begun.get("status") in ("queued", "running", "ended"), f"a run that goes on, got {shown(begun)}")
    record = ended(session, begun["run_id"])
    expect_equal(record.get("outcome"), "completed", "`outcome`")
    expect_equal(completed(record.get("result") or {}), {"late": True}, "`output`")


def ended(session, run_id):
    """The record of a run, when it has ended."""
    deadline = time.monotonic() + session.transport.timeout
    while time.monotonic() < deadline:
        status, record = get(session, f"/v1/runs/{run_id}?wait_ms=5000")
        expect_equal(status, 200, "the HTTP status of the record")
        if record.get("status") == "ended":
            return record
    expect(False, "the run ends")


@case("ext.cancel", EXTENSION, WARDIAN("Cancelling a run", "`POST /v1/runs/{id}/cancel` stops a run."))
def cancel(session):
    """A run in the background is cancelled by its id."""
    begun = session.run("import time\n\ndef main(args):\n    time.sleep(25)\n", detach=True)
    reply = session.send(b"", "POST", f"/v1/runs/{begun['run_id']}/cancel", {})
    expect_equal(reply.status, 200, "the HTTP status")
    expect_equal(ended(session, begun["run_id"]).get("outcome"), "cancelled", "`outcome`")


@case(
    "ext.idempotency",
    EXTENSION,
    WARDIAN("Once and only once", "A call with an `idempotency_key` is executed once."),
)
def idempotency(session):
    """A call that is repeated with its key has the first answer; another call with the key is refused."""
    key = f"conformance-{uuid.uuid4().hex}"
    code = "import uuid\n\ndef main(args):\n    return {'drawn': uuid.uuid4().hex}\n"
    first, second = (session.run(code, {}, idempotency_key=key) for _ in range(2))
    expect_equal(completed(second), completed(first), "`output` of the repeated call")
    expect_equal(second.get("run_id"), first.get("run_id"), "`run_id` of the repeated call")
    session.error("run_code", language="python", code=code + "# another\n", args={}, idempotency_key=key)


@case(
    "ext.limits-beyond",
    EXTENSION,
    WARDIAN("Limits", "A value beyond the operator's is refused, not lowered."),
)
def limits_beyond(session):
    """A time-out of a year is refused."""
    params = {"language": "python", "code": "def main(args):\n    return {}\n"}
    error = session.error("run_code", **params, limits={"timeout_ms": 365 * 24 * 3600 * 1000})
    expect_equal(kind_of(error), "invalid_params", "`data.kind`")


@case(
    "ext.timeout-type",
    EXTENSION,
    WARDIAN(RESULTS, "`error.type` of a run that was stopped at its limit is `Timeout`."),
)
def timeout_type(session):
    """A run that was stopped has the error `Timeout`."""
    run = session.run("def main(args):\n    while True:\n        pass\n", {}, limits={"timeout_ms": 300})
    expect_equal(failed(run).get("type"), "Timeout", "`error.type`")


@case("ext.tools", EXTENSION, WARDIAN("Other paths", "`GET /tools` has the eight tools as JSON Schemas."))
def tools(session):
    """The eight tools are published, for OpenAI and Anthropic too."""
    status, table = get(session, "/tools")
    expect_equal(status, 200, "the HTTP status")
    names = [tool.get("name") for tool in table]
    expect(len(names) == 8 and "run_code" in names, f"eight tools, got {shown(names)}")
    for tool in table:
        expect(isinstance(tool.get("parameters"), dict), f"`{tool['name']}` has `parameters`")
    functions = get(session, "/tools?format=openai")[1]
    expect_equal([tool["function"]["name"] for tool in functions], names, "the names for OpenAI")
    uses = get(session, "/tools?format=anthropic")[1]
    expect(all("input_schema" in tool for tool in uses), "the tools for Anthropic have `input_schema`")


@case(
    "ext.health",
    EXTENSION,
    WARDIAN("Other paths", "`/healthz`, `/readyz` and `/version` tell of the server."),
)
def health(session):
    """The server says that it lives, that it is ready, and which version of the protocol it speaks."""
    expect_equal(session.send(b"", "GET", "/healthz").status, 200, "the HTTP status of /healthz")
    expect_equal(get(session, "/readyz"), (200, {"ready": True, "reasons": []}), "/readyz")
    expect_equal(get(session, "/version")[1].get("protocol"), "0.1", "`protocol` of /version")
