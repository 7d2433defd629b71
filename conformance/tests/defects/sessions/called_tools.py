"""Defects of tools of the caller."""

from ..spoil import after, changed, defect, simple, without

WAITING = [f"sessions.tools-{name}" for name in ("wait", "together", "error", "answers", "schemas")]


def asking(name, cases, change):
    """A defect in the requests of runs that wait."""
    simple(
        name,
        [f"sessions.tools-{case}" for case in cases],
        "waiting_run",
        lambda run, *_: changed(run, requests=change(run["requests"])),
    )


simple("runs that wait are completed", WAITING, "waiting_run", lambda run, *_: changed(run, status="completed"))
simple("runs wait for nothing", WAITING, "waiting_run", lambda run, *_: without(run, "requests"))
asking("arguments are a text", ["wait", "together"], lambda found: [changed(one, arguments="{}") for one in found])
asking("requests without tools", ["wait"], lambda found: [without(one, "name") for one in found])
asking("requests without kinds", ["wait"], lambda found: [without(one, "kind") for one in found])
simple(
    "each part shows the whole log",
    ["sessions.tools-wait"],
    "waiting_run",
    lambda run, *_: changed(run, logs_preview="asks\n" * 2),
)


@defect("runs with tools stay", "sessions.tools-wait")
def _(server):
    server.end_run = lambda session: None


@defect("a run that asks for nothing has a session", "sessions.tools-none")
def _(server):
    after(
        server,
        "ended_run",
        lambda run, _, session, answers: run if answers else changed(run, session={"id": session.id}),
    )


@defect("errors of tools are outputs of another class", "sessions.tools-error")
def _(server):
    server.error_of = lambda message, name: RuntimeError(message)


@defect("any answers will do", "sessions.tools-answers")
def _(server):
    server.check_answers = lambda ids, given: None


@defect("answers come in the order of the requests", "sessions.tools-together")
def _(server):
    right = server.go_on_with

    def go_on(session, given):
        ids = sorted(answer["id"] for answer in given)
        return right(session, [{**answer, "id": id} for answer, id in zip(given, ids)])

    server.go_on_with = go_on


@defect("any tool can be called", "sessions.tools-unknown")
def _(server):
    server.declared_tool = lambda declared, name: declared.get(name, {})


@defect("schemas are not looked at", "sessions.tools-schemas")
def _(server):
    server.fault_of = lambda schema, value, place: None


@defect("outputs are not looked at", "sessions.tools-schemas")
def _(server):
    right = server.fault_of
    server.fault_of = lambda schema, value, place: None if place == "output" else right(schema, value, place)


@defect("runs with tools can be in the background", "sessions.tools-exclusive")
def _(server):
    server.not_with_tools = lambda: ("idempotency_key",)
