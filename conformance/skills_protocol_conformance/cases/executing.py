"""execute_skill: calls, results and failures."""

import json
import time

from ..case import (
    CONVENTIONS,
    EXECUTION,
    MANIFEST,
    MUST,
    SCHEMAS,
    SHOULD,
    STRUCTURE,
    TOOLS,
    case,
    expect,
    expect_equal,
    shown,
)
from ..session import completed, failed
from ..skills_folder import OLDER_VERSION

EXECUTE = "execute_skill"
ECHO = "conformance.echo.args"
ENTRY = "conformance.entry.custom"
GUIDE = "conformance.guide.reading"
MANY = "conformance.versions.many"
STEPS = "conformance.work.steps"

ARGS = {
    "text": 'Zürich 東京 🙂 "quoted" \\ \n\t',
    "empty": "",
    "integer": -42,
    "large": 2**53 - 1,
    "float": 0.1,
    "true": True,
    "false": False,
    "null": None,
    "array": [1, [2, []], {"three": 3}],
    "object": {"nested": {"key with blanks": [True, None]}},
}

TWO_LEVELS = CONVENTIONS(
    "Two-level error handling",
    'A failed execution is a result with the status "failed"; a failed call is an error of JSON-RPC.',
)

# Seconds within which a run that was stopped must be answered: any machine, however busy.
STOPPED_WITHIN = 25


@case("execute.status", MUST, TOOLS(EXECUTE, '"completed" or "failed"'), (ECHO, STEPS))
def status(session):
    """`status` is \"completed\" for a run that returned and \"failed\" for one that raised."""
    expect_equal(session.execute(ECHO, {}).get("status"), "completed", "`status`")
    expect_equal(session.step("raise", text="wrong").get("status"), "failed", "`status` after an exception")


@case("execute.run-id", MUST, TOOLS(EXECUTE, "Stable identifier for this run"), (ECHO,))
def run_id(session):
    """`run_id` is a text that no other run has."""
    ids = [session.execute(ECHO, {}).get("run_id") for _ in range(3)]
    expect(all(isinstance(one, str) and one for one in ids), f"texts, got {shown(ids)}")
    expect(len(set(ids)) == 3, f"three different ids, got {shown(ids)}")


@case("execute.summary", MUST, TOOLS(EXECUTE, "Human-readable result description"), (ECHO, STEPS))
def summary(session):
    """`summary` is a text, for completed and failed runs."""
    for run in (session.execute(ECHO, {}), session.step("raise", text="wrong")):
        text = run.get("summary")
        expect(isinstance(text, str) and text.strip(), f"a text, got {shown(text)}")


@case(
    "execute.args", MUST, MANIFEST("Example", "args is a dict passed from execute_skill or run_code"), (ECHO,)
)
def args(session):
    """The function gets the arguments as a dict, with every kind of JSON value unchanged."""
    output = completed(session.execute(ECHO, ARGS))
    expect_equal(output.get("type"), "dict", "the type of `args`")
    expect_equal(output.get("echo"), ARGS, "`args` as they arrived")


@case("execute.args-left-out", MUST, SCHEMAS(EXECUTE, '"required": ["name"]'), (ECHO,))
def args_left_out(session):
    """Without `args` the function gets an empty dict."""
    expect_equal(completed(session.execute(ECHO)), {"echo": {}, "type": "dict"}, "`output`")


@case(
    "execute.args-wrong",
    SHOULD,
    SCHEMAS(EXECUTE, "JSON-serializable arguments to pass to the skill"),
    (ECHO,),
)
def args_wrong(session):
    """`args` that are no object are refused."""
    for wrong in ([1], "text"):
        session.error("execute_skill", name=ECHO, args=wrong)


@case("execute.output", MUST, TOOLS(EXECUTE, "Small JSON output (max 4KB)"), (ENTRY,))
def output(session):
    """`output` is the object that the function returned."""
    expect_equal(completed(session.execute(ENTRY, {})), {"called": "begin"}, "`output`")


@case("execute.output-limit", MUST, TOOLS(EXECUTE, "Small JSON output (max 4KB)"), (STEPS,))
def output_limit(session):
    """However much a skill returns, `output` has at most 4,096 bytes of JSON."""
    found = session.step("return_much").get("output")
    size = len(json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode())
    expect(size <= 4096, f"at most 4,096 bytes, got {size}")


@case("execute.logs", MUST, TOOLS(EXECUTE, "Truncated execution logs (max 2KB)"), (STEPS,))
def logs(session):
    """`logs_preview` has printed text and logged lines."""
    for do in ("print", "log"):
        preview = session.step(do, text="a line for the log, Zürich").get("logs_preview")
        expect(isinstance(preview, str), f"`logs_preview` is a text, got {shown(preview)}")
        expect("a line for the log, Zürich" in preview, f"the text of `{do}`, got {shown(preview)}")


@case("execute.logs-limit", MUST, TOOLS(EXECUTE, "Truncated execution logs (max 2KB)"), (STEPS,))
def logs_limit(session):
    """However much a skill prints, `logs_preview` has at most 2,048 bytes, and some of the text."""
    run = session.step("print_much")
    completed(run)
    preview = run.get("logs_preview")
    expect(
        isinstance(preview, str) and "of a long log" in preview, f"a part of the log, got {shown(preview)}"
    )
    size = len(preview.encode())
    expect(size <= 2048, f"at most 2,048 bytes, got {size}")


@case("execute.output-blobs", MUST, TOOLS(EXECUTE, "Blob IDs created during execution"), (STEPS,))
def output_blobs(session):
    """`output_blobs` has the id of a blob that the skill made, and its content can be read."""
    run = session.step("write_blob", text="made by a run, Zürich")
    blob = completed(run).get("blob")
    expect(isinstance(run.get("output_blobs"), list), f"an array, got {shown(run.get('output_blobs'))}")
    expect(blob in run["output_blobs"], f"`{blob}` is among {shown(run['output_blobs'])}")
    content = session.call("read_blob", blob_id=blob).get("content")
    expect_equal(content, "made by a run, Zürich", "`content` of the blob")


@case("execute.input-blobs", MUST, TOOLS(EXECUTE, "Blob IDs to mount in the sandbox"), (STEPS,))
def input_blobs(session):
    """A skill reads the blobs of `input_blobs` with the runtime package."""
    blob = session.create_blob("for a skill, Zürich")
    run = session.execute(STEPS, {"do": "read_blob", "blob": blob}, input_blobs=[blob])
    expect_equal(completed(run).get("text"), "for a skill, Zürich", "the text that the skill read")


@case("execute.input-blob-unknown", SHOULD, TOOLS(EXECUTE, "Blob IDs to mount in the sandbox"), (ECHO,))
def input_blob_unknown(session):
    """A blob that is not there does not complete a run: the call is refused, or the run fails."""
    response = session.respond("execute_skill", {"name": ECHO, "input_blobs": ["blob:conformance-no-such"]})
    not_completed(response)


def not_completed(response):
    """Expects an error or a failed run."""
    result = response.get("result")
    is_failed = isinstance(result, dict) and result.get("status") == "failed"
    expect("error" in response or is_failed, f"an error or a failed run, got {shown(response)}")


@case(
    "execute.failed-error",
    SHOULD,
    EXECUTION(
        "Response (Failed)",
        "A failed run has `error` with `type`, the name of an exception class, and `message`.",
    ),
    (STEPS,),
)
def failed_error(session):
    """`error` of a run that raised has the exception's class and its text."""
    error = failed(session.step("raise", text="a value is wrong"))
    expect_equal(error.get("type"), "ValueError", "`error.type`")
    message = error.get("message")
    expect(isinstance(message, str) and "a value is wrong" in message, f"the text, got {shown(message)}")


@case("execute.failed-is-result", MUST, TWO_LEVELS, (STEPS,))
def failed_is_result(session):
    """An exception of a skill is told in a result and not as an error of the call."""
    response = session.respond("execute_skill", {"name": STEPS, "args": {"do": "raise", "text": "wrong"}})
    expect("error" not in response, f"no JSON-RPC error, got {shown(response.get('error'))}")
    expect(isinstance(response.get("result"), dict), f"a result, got {shown(response)}")


@case("execute.export", MUST, MANIFEST("export", "Name of the function to call."), (ENTRY,))
def export(session):
    """The file and the function of the manifest are used, whatever they are called."""
    expect_equal(completed(session.execute(ENTRY, {})).get("called"), "begin", "the function")


@case("execute.helper-modules", MUST, STRUCTURE("code/ directory", "utils.py # Helper modules"), (ENTRY,))
def helper_modules(session):
    """The entrypoint imports a module that lies beside it."""
    output = completed(session.execute(ENTRY, {"want": "helper"}))
    expect_equal(output.get("helper"), "a word of the helper", "`helper`")


@case("execute.instruction", MUST, STRUCTURE("Instruction Skills", "Cannot be executed"), (GUIDE,))
def instruction(session):
    """An instruction skill is not executed: the call is refused, or the run fails."""
    not_completed(session.respond("execute_skill", {"name": GUIDE, "args": {}}))


@case("execute.unknown", MUST, TWO_LEVELS)
def unknown(session):
    """A skill that is not there is refused with a JSON-RPC error."""
    session.error("execute_skill", name="conformance.no.such", args={})


@case("execute.name-required", MUST, SCHEMAS(EXECUTE, '"required": ["name"]'))
def name_required(session):
    """A call without `name` is refused."""
    session.error("execute_skill", args={})


@case("execute.version", MUST, TOOLS(EXECUTE, "Skill version (omit for latest)"), (MANY, OLDER_VERSION))
def version(session):
    """With `version` that version is executed, without it the latest."""
    for wanted in ("1.9.0", "1.10.0"):
        run = session.execute(MANY, {}, version=wanted)
        expect_equal(completed(run).get("version"), wanted, "the version that was executed")
    expect_equal(completed(session.execute(MANY, {})).get("version"), "1.10.0", "the latest version")


@case("execute.version-unknown", MUST, TOOLS(EXECUTE, "Skill version (omit for latest)"), (ECHO,))
def version_unknown(session):
    """A version that is not there is refused."""
    session.error("execute_skill", name=ECHO, version="9.9.9", args={})


@case("execute.timeout", MUST, TOOLS(EXECUTE, "Execution timeout in milliseconds"), (STEPS,))
def timeout(session):
    """A skill that sleeps beyond `timeout_ms` is stopped, and its run has failed."""
    begin = time.monotonic()
    run = session.execute(STEPS, {"do": "sleep", "seconds": 60}, timeout_ms=400)
    failed(run)
    seconds = time.monotonic() - begin
    expect(seconds < STOPPED_WITHIN, f"the run is stopped at its timeout, got {seconds:.0f} s")
    completed(session.execute(STEPS, {"do": "sleep", "seconds": 0.01}, timeout_ms=20000))
