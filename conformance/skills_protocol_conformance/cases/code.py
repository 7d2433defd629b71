"""run_code: calls, results and failures."""

import time

from ..case import (
    CLIENT,
    CORE,
    EXECUTION,
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
from .executing import ARGS, ECHO, STOPPED_WITHIN, TWO_LEVELS, not_completed

RUN = "run_code"
NOTHING = "def main(args):\n    return {}\n"
ECHO_CODE = "def main(args):\n    return {'echo': args}\n"


@case("code.result", MUST, TOOLS(RUN, "Execute LLM-written code in a sandbox"))
def result(session):
    """Code that returns an object completes, with that object as `output`."""
    output = session.output_of("def main(args):\n    return {'sum': 40 + 2, 'text': 'Zürich'}\n")
    expect_equal(output, {"sum": 42, "text": "Zürich"}, "`output`")


@case(
    "code.run-members", MUST, CORE("Run", "Each run, by either method, has `run_id`, `status` and `summary`.")
)
def run_members(session):
    """A result has `status`, an own `run_id`, and a `summary`, also if the run failed."""
    runs = [session.run(NOTHING), session.run("def main(args):\n    raise ValueError('wrong')\n")]
    expect_equal([run.get("status") for run in runs], ["completed", "failed"], "`status`")
    ids = {run.get("run_id") for run in runs}
    expect(len(ids) == 2 and all(isinstance(one, str) for one in ids), f"two ids, got {shown(ids)}")
    for run in runs:
        text = run.get("summary")
        expect(isinstance(text, str) and text.strip(), f"`summary` is a text, got {shown(text)}")


@case("code.args", MUST, TOOLS(RUN, "Arguments to pass to entrypoint function"))
def args(session):
    """The function gets the arguments with every kind of JSON value unchanged."""
    expect_equal(session.output_of(ECHO_CODE, ARGS).get("echo"), ARGS, "`args` as they arrived")


@case("code.args-left-out", MUST, SCHEMAS(RUN, '"required": ["language", "code"]'))
def args_left_out(session):
    """Without `args` a `main(args)` is called with an empty dict."""
    expect_equal(session.output_of(ECHO_CODE), {"echo": {}}, "`output`")


@case("code.entrypoint-default", MUST, TOOLS(RUN, 'Function name to call (default: "main")'))
def entrypoint_default(session):
    """Without `entrypoint` the function `main` is called, and no other."""
    code = (
        "def other(args):\n    return {'called': 'other'}\n\ndef main(args):\n    return {'called': 'main'}\n"
    )
    expect_equal(session.output_of(code, {}).get("called"), "main", "the function")


@case("code.entrypoint", MUST, TOOLS(RUN, 'Function name to call (default: "main")'))
def entrypoint(session):
    """The function of `entrypoint` is called."""
    code = (
        "def other(args):\n    return {'called': 'other'}\n\ndef main(args):\n    return {'called': 'main'}\n"
    )
    expect_equal(session.output_of(code, {}, entrypoint="other").get("called"), "other", "the function")


@case("code.entrypoint-missing", MUST, SCHEMAS(RUN, "Function name to call"))
def entrypoint_missing(session):
    """A function that the code does not define is not taken for a success."""
    params = {"language": "python", "code": NOTHING, "entrypoint": "missing", "args": {}}
    not_completed(session.respond("run_code", params))


@case("code.language-required", MUST, SCHEMAS(RUN, '"required": ["language", "code"]'))
def language_required(session):
    """A call without `language` is refused."""
    session.error("run_code", code=NOTHING)


@case("code.language-unknown", MUST, TOOLS(RUN, 'Programming language (MVP: "python" only)'))
def language_unknown(session):
    """A language other than Python is refused."""
    session.error("run_code", language="cobol", code=NOTHING)


@case("code.code-required", MUST, SCHEMAS(RUN, '"required": ["language", "code"]'))
def code_required(session):
    """A call without `code` is refused."""
    session.error("run_code", language="python")


@case("code.exception", MUST, TOOLS("execute_skill", '"completed" or "failed"'))
def exception(session):
    """An exception is a failed run and no error of the call."""
    failed(session.run("def main(args):\n    return {'share': 1 / 0}\n"))


@case(
    "code.error",
    SHOULD,
    EXECUTION(
        "Response (Failed)",
        "A failed run has `error` with `type`, the name of an exception class, and `message`.",
    ),
)
def error(session):
    """`error` of a failed run has the exception's class and its text."""
    found = failed(session.run("def main(args):\n    raise KeyError('city')\n"))
    expect_equal(found.get("type"), "KeyError", "`error.type`")
    expect("city" in str(found.get("message")), f"the text, got {shown(found.get('message'))}")


@case(
    "code.error-own-class",
    SHOULD,
    EXECUTION(
        "Response (Failed)", "The type of an error can be that of a program, such as `AuthenticationError`."
    ),
)
def error_own_class(session):
    """An exception of a class that the code defines has its name."""
    code = "class TicketError(Exception):\n    pass\n\ndef main(args):\n    raise TicketError('sold out')\n"
    expect_equal(failed(session.run(code)).get("type"), "TicketError", "`error.type`")


@case("code.syntax-error", MUST, TWO_LEVELS)
def syntax_error(session):
    """Code with a wrong syntax is a failed run."""
    failed(session.run("def main(args:\n    return {}\n", {}))


@case("code.exit", SHOULD, TWO_LEVELS)
def exit_code(session):
    """Code that ends its process with an exit code fails, and the server goes on."""
    failed(session.run("import sys\n\ndef main(args):\n    sys.exit(3)\n", {}))
    session.output_of(NOTHING)


@case("code.output-not-json", SHOULD, STRUCTURE("code/ directory", "returns: JSON-serializable result"))
def output_not_json(session):
    """A returned value that JSON cannot hold is a failed run."""
    failed(session.run("def main(args):\n    return {'value': object()}\n", {}))


@case("code.logs", MUST, TOOLS(RUN, "log.info(), etc."))
def logs(session):
    """Lines of `runtime.log` and printed text are in `logs_preview`."""
    code = """
from runtime import log

def main(args):
    log.info('a logged line')
    print('a printed line')
    return {}
"""
    preview = session.run(code).get("logs_preview") or ""
    for text in ("a logged line", "a printed line"):
        expect(text in preview, f"`{text}` is there, got {shown(preview)}")


@case("code.logs-of-failed", SHOULD, EXECUTION("Response (Failed)", "A failed run has `logs_preview`."))
def logs_of_failed(session):
    """Text that was printed before an exception is in `logs_preview`."""
    run = session.run("def main(args):\n    print('before the fall')\n    raise ValueError('wrong')\n")
    failed(run)
    expect("before the fall" in (run.get("logs_preview") or ""), "the printed text is there")


@case("code.write-text", MUST, TOOLS(RUN, "blobs.write_text()"))
def write_text(session):
    """`runtime.blobs.write_text` makes a blob and returns its id."""
    code = (
        "from runtime import blobs\n\ndef main(args):\n    return {'blob': blobs.write_text(args['text'])}\n"
    )
    run = session.run(code, {"text": "written by code, Zürich"})
    blob = completed(run).get("blob")
    expect(blob in (run.get("output_blobs") or []), f"`{blob}` is among `output_blobs`")
    expect_equal(
        session.call("read_blob", blob_id=blob).get("content"), "written by code, Zürich", "`content`"
    )


@case("code.read-text", MUST, TOOLS(RUN, "blobs.read_text()"))
def read_text(session):
    """`runtime.blobs.read_text` reads a blob of `input_blobs`."""
    blob = session.create_blob("for code, Zürich")
    code = (
        "from runtime import blobs\n\ndef main(args):\n    return {'text': blobs.read_text(args['blob'])}\n"
    )
    output = session.output_of(code, {"blob": blob}, input_blobs=[blob])
    expect_equal(output.get("text"), "for code, Zürich", "the text")


@case("code.mount-skills", MUST, TOOLS(RUN, "Skill names to mount in sandbox"), (ECHO,))
def mount_skills(session):
    """A mounted skill is imported by its name, and its function called."""
    code = (
        f"from skills.{ECHO} import main as echo\n\ndef main(args):\n    return echo({{'by': args['by']}})\n"
    )
    output = session.output_of(code, {"by": "code"}, mount_skills=[ECHO])
    expect_equal(output, {"echo": {"by": "code"}, "type": "dict"}, "`output`")


@case(
    "code.not-mounted",
    SHOULD,
    TOOLS(RUN, "Execute LLM-written code in a sandbox with specified skills and blobs mounted."),
    (ECHO,),
)
def not_mounted(session):
    """A skill that is not mounted cannot be imported."""
    failed(session.run(f"from skills.{ECHO} import main as echo\n\ndef main(args):\n    return {{}}\n", {}))


@case("code.mount-unknown", SHOULD, TOOLS(RUN, "Skill names to mount in sandbox"))
def mount_unknown(session):
    """A skill to mount that is not there does not complete a run."""
    params = {"language": "python", "code": NOTHING, "mount_skills": ["conformance.no.such"]}
    not_completed(session.respond("run_code", params))


@case("code.timeout-loop", MUST, SCHEMAS(RUN, "Execution limits"))
def timeout_loop(session):
    """An endless loop is stopped at `limits.timeout_ms`, and its run has failed."""
    stopped(session, "def main(args):\n    while True:\n        pass\n", limits={"timeout_ms": 400})


@case("code.timeout-sleep", MUST, SCHEMAS(RUN, "Execution limits"))
def timeout_sleep(session):
    """Code that sleeps is stopped at `limits.timeout_ms`."""
    stopped(session, "import time\n\ndef main(args):\n    time.sleep(60)\n", limits={"timeout_ms": 400})


@case(
    "code.timeout-beside",
    SHOULD,
    CLIENT("run_code", "It sends `timeout_ms` beside `limits` with run_code too."),
)
def timeout_beside(session):
    """`timeout_ms` beside `limits` is obeyed."""
    stopped(session, "import time\n\ndef main(args):\n    time.sleep(60)\n", timeout_ms=400)


def stopped(session, code, **params):
    """Expects that code is stopped, and that the server goes on."""
    begin = time.monotonic()
    failed(session.run(code, {}, **params))
    seconds = time.monotonic() - begin
    expect(seconds < STOPPED_WITHIN, f"the run is stopped at its timeout, got {seconds:.0f} s")
    session.output_of(NOTHING)
