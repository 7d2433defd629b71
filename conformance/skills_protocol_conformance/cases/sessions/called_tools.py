"""Tools of the caller: what a program asks, and how it goes on with the answers."""

from ...capabilities import SESSIONS
from ...case import EXTENSION, WARDIAN_TOOLS, case, expect, expect_equal, shown
from ...session import completed, failed
from .live import refusal, state_of

PROGRAM = "In the program"
REQUESTS = "Requests and answers"
SCHEMAS = "Schemas"
FIND = {
    "name": "crm.find",
    "description": "Finds customers.",
    "input_schema": {
        "type": "object",
        "required": ["query"],
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
    },
    "output_schema": {"type": "array"},
}
MAIN = "from tools import crm\n\nasync def main(args):\n"
TRIED = (
    "import tools\nfrom tools import crm\n\nasync def main(args):\n    try:\n        rows = await {call}\n"
    "    except tools.ToolError as error:\n        return {{'tool': error.tool, 'message': error.message}}\n"
    "    return {{'rows': rows}}\n"
)


def tool_case(name, section, sentence):
    """Makes a function a case about tools of the caller."""
    source = WARDIAN_TOOLS(section, sentence)
    return case(f"sessions.tools-{name}", EXTENSION, source, extension=SESSIONS)


def asks(session, code, **params):
    """The result of a run that has to wait."""
    run = session.run(code, tools=[FIND, {"name": "mail"}], **params)
    expect_equal(run.get("status"), "waiting", "`status`")
    return run


def requests_of(run, count):
    """What a run asks; each request has an id of its own."""
    found = run.get("requests")
    expect(isinstance(found, list) and len(found) == count, f"{count} requests, got {shown(found)}")
    ids = {request.get("id") for request in found}
    expect(len(ids) == count and None not in ids, f"each has an id of its own, got {shown(found)}")
    return found


def answered(session, run, *answers):
    """The result of the call that answers the requests of a run, in their order."""
    ids = [request["id"] for request in run["requests"]]
    given = [{"id": id, **answer} for id, answer in zip(ids, answers)]
    return session.run("", session=state_of(run, "waiting").get("id"), answers=given)


@tool_case("wait", REQUESTS, "The call returns with all that is open, and the next call has the answers.")
def wait(session):
    """A run that calls a tool waits for the answer, and its result is that of any run."""
    code = MAIN + "    print('asks')\n    rows = await crm.find(query=args['q'], limit=2)\n    return {'n': len(rows)}\n"
    run = asks(session, code, args={"q": "a"})
    expect_equal(run.get("logs_preview"), "asks\n", "`logs_preview`")
    [asked] = requests_of(run, 1)
    expect_equal(asked.get("kind"), "tool", "`kind` of the request")
    expect_equal(asked.get("name"), "crm.find", "`name` of the request")
    expect_equal(asked.get("arguments"), {"query": "a", "limit": 2}, "`arguments` of the request")
    expect_equal(completed(answered(session, run, {"output": [1, 2]})), {"n": 2}, "`output`")
    ended = refusal(session, run["session"]["id"])[0]
    expect_equal(ended, "session_not_found", "`data.kind` of a call in the session of a run that has ended")


@tool_case("none", REQUESTS, "A run that asks for nothing returns as any other, without `session`.")
def none(session):
    """A run that calls none of its tools has the result of a run."""
    run = session.run("1 + 1", tools=[FIND])
    expect_equal(completed(run), {"result": 2}, "`output`")
    expect("session" not in run, f"the result has no `session`, got {shown(run.get('session'))}")


@tool_case("together", PROGRAM, "`asyncio.gather(...)` asks for several at once.")
def together(session):
    """Calls that a program awaits together come together, and are answered in any order."""
    code = "import asyncio\n" + MAIN + "    return {'r': await asyncio.gather(crm.find('a'), crm.find('b'))}\n"
    run = asks(session, code)
    first, second = requests_of(run, 2)
    expect_equal([one["arguments"] for one in (first, second)], [{"query": "a"}, {"query": "b"}], "`arguments`")
    answers = [{"id": second["id"], "output": [2]}, {"id": first["id"], "output": [1]}]
    run = session.run("", session=run["session"]["id"], answers=answers)
    expect_equal(completed(run), {"r": [[1], [2]]}, "`output`")


@tool_case("error", REQUESTS, "`error` instead of `output` is a `ToolError` in the program.")
def error(session):
    """The error of a tool is raised where the program waits, with the tool's name and the message."""
    run = asks(session, TRIED.format(call="crm.find('a')"))
    requests_of(run, 1)
    found = completed(answered(session, run, {"error": "no such table"}))
    expect_equal(found, {"tool": "crm.find", "message": "no such table"}, "what the program has caught")


@tool_case("answers", REQUESTS, "The next call has an answer to each of the requests.")
def answers(session):
    """A call with a wrong answer or without one is refused, and the run waits on."""
    run = asks(session, MAIN + "    return {'rows': await crm.find('a')}\n")
    [asked] = requests_of(run, 1)
    right, wrong = {"id": asked["id"], "output": [1]}, {"id": "c9-r9", "output": [1]}
    for given in ([], [wrong], [right, wrong], [right, right], [{**right, "error": "both"}]):
        kind, _ = refusal(session, run["session"]["id"], code="", answers=given)
        expect_equal(kind, "invalid_params", f"`data.kind` for the answers {shown(given)}")
    expect_equal(completed(answered(session, run, {"output": [1]})), {"rows": [1]}, "`output`")


@tool_case("unknown", PROGRAM, "A program can call the tools that were declared, and no others.")
def unknown(session):
    """The call of a tool that was not declared is a `ToolError`, and asks the caller for nothing."""
    run = session.run(TRIED.format(call="tools.call('crm.drop')"), tools=[FIND])
    expect_equal(completed(run).get("tool"), "crm.drop", "`tool` of the exception")


@tool_case("schemas", SCHEMAS, "What does not fit is a `ToolError` in the program, which names the place.")
def schemas(session):
    """Arguments that do not fit never come to the caller, and outputs that do not fit never to the program."""
    run = session.run(TRIED.format(call="tools.call('crm.find', {'query': 1})"), tools=[FIND])
    found = completed(run).get("message", "")
    expect("arguments.query" in found, f"the message names `arguments.query`, got {shown(found)}")
    run = asks(session, TRIED.format(call="crm.find('a')"))
    found = completed(answered(session, run, {"output": {"rows": []}})).get("message", "")
    expect("output" in found, f"the message names `output`, got {shown(found)}")


@tool_case("exclusive", REQUESTS, "`detach`, `idempotency_key` and `cache` of `reproducible` exclude `tools`.")
def exclusive(session):
    """What a run that waits cannot have is refused by its name."""
    for name, value in {"detach": True, "idempotency_key": "tools-of-a-case"}.items():
        params = {"language": "python", "code": "1", "tools": [FIND], name: value}
        found = session.error("run_code", **params).get("data") or {}
        expect_equal(found.get("parameter"), name, f"`data.parameter` of a call with `{name}`")
