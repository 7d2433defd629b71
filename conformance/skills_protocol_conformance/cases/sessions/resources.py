"""Sessions over HTTP: made, listed, shown and closed; their cells; other tenants."""

from ...case import expect, expect_equal, shown
from .live import UNKNOWN_ID, Interpreter, asked, refusal, send, session_case, state_of

REQUESTS = "Requests"


def ids_of(session):
    """The ids of all sessions that are listed."""
    found, query = [], "?limit=100"
    while True:
        page = asked(session, 200, "GET", query)
        found += [entry["id"] for entry in page["sessions"]]
        if page.get("next_cursor") is None:
            return found
        query = f"?limit=100&cursor={page['next_cursor']}"


@session_case("create", REQUESTS, "`POST /v1/sessions` makes a session.")
def create(session):
    """A session is made without a cell, with its label and its place; its first call is cell 1."""
    reply = send(session, "POST", "", {"label": "conformance"})
    expect_equal(reply.status, 201, "the HTTP status")
    made = session.json_of(reply)
    with Interpreter.of(session, made["id"]) as live:
        expect_equal(reply.headers.get("location"), f"/v1/sessions/{live.id}", "the header Location")
        for member, wanted in (("label", "conformance"), ("cells", 0), ("checkpoint", None)):
            expect_equal(made.get(member, ""), wanted, f"`{member}`")
        for member in ("created_ms", "used_ms", "expires_ms"):
            expect(isinstance(made.get(member), int), f"`{member}` is an integer, got {shown(made)}")
        expect_equal(state_of(live.cell("1")).get("cell"), 1, "`session.cell` of the first call")


@session_case("show", REQUESTS, "`GET /v1/sessions/{id}` is the session with its checkpoints.")
def show(session):
    """A session is shown with the number of its cells, the checkpoint it is at, and all checkpoints."""
    with Interpreter(session, "x = 1") as live:
        first, second = (state_of(run).get("checkpoint") for run in (live.first, live.cell("x = 2")))
        found = live.asked(200, "GET")
        expect_equal(found.get("id"), live.id, "`id`")
        expect_equal(found.get("cells"), 2, "`cells`")
        expect_equal(found.get("checkpoint"), second, "`checkpoint`")
        told = [(entry["id"], entry["cell"], entry["parent"]) for entry in found["checkpoints"]]
        expect_equal([list(entry) for entry in told], [[first, 1, None], [second, 2, first]], "`checkpoints`")


@session_case("list", REQUESTS, "`GET /v1/sessions` lists sessions, newest first, with the tenant's usage.")
def list_(session):
    """Open sessions are listed, newest first and page by page; closed ones are not."""
    with Interpreter(session) as older:
        with Interpreter(session) as newer:
            listed = ids_of(session)
            ours = [id for id in listed if id in (older.id, newer.id)]
            expect_equal(ours, [newer.id, older.id], "the ids of both, newest first")
            page = asked(session, 200, "GET", "?limit=1")
            expect_equal(len(page["sessions"]), 1, "the sessions of a page with `limit` 1")
            expect(page.get("next_cursor"), "the page has a `next_cursor`")
            expect_equal(page["usage"]["sessions"], len(listed), "`usage.sessions`")
        expect(newer.id not in ids_of(session), "a session that was closed is not listed")


@session_case("delete", REQUESTS, "`DELETE /v1/sessions/{id}` closes the session.")
def delete(session):
    """A session that was closed does not exist, for requests and for calls."""
    live = Interpreter(session)
    live.asked(204, "DELETE")
    for verb in ("GET", "DELETE"):
        live.asked(404, verb)
    expect_equal(refusal(session, live.id)[0], "session_not_found", "`data.kind`")


@session_case("cells", REQUESTS, "`GET /v1/sessions/{id}/cells` has the cells with programs and results.")
def cells(session):
    """The cells of a session are listed with program, state, checkpoint and result."""
    with Interpreter(session, "x = 6") as live:
        checkpoint = state_of(live.cell("x * 7")).get("checkpoint")
        found = live.asked(200, "GET", "/cells")["cells"]
        expect_equal([cell["number"] for cell in found], [1, 2], "the numbers")
        found = live.asked(200, "GET", "/cells?after=1")["cells"]
        expect_equal([cell["number"] for cell in found], [2], "the numbers after 1")
        cell = found[0]
        for member, wanted in (("source", "x * 7"), ("state", "kept"), ("checkpoint", checkpoint)):
            expect_equal(cell.get(member), wanted, f"`{member}`")
        expect_equal((cell.get("result") or {}).get("output"), {"result": 42}, "`result.output`")


@session_case("notebook", REQUESTS, "`GET /v1/sessions/{id}/notebook` has its cells as a Jupyter notebook.")
def notebook(session):
    """The cells of a session are a notebook of format 4, with programs, numbers and outputs."""
    with Interpreter(session, "x = 6\nprint('hello')") as live:
        state_of(live.cell("x * 7"))
        reply = send(session, "GET", f"/{live.id}/notebook")
        expect_equal(reply.status, 200, "the HTTP status")
        kind = reply.headers.get("content-type", "").partition(";")[0]
        expect_equal(kind, "application/x-ipynb+json", "the content type")
        found = session.json_of(reply)
        expect_equal(found.get("nbformat"), 4, "`nbformat`")
        told = [cell for cell in found["cells"] if cell.get("cell_type") == "code"]
        sources = ["".join(cell["source"]) for cell in told]
        expect_equal(sources, ["x = 6\nprint('hello')", "x * 7"], "the programs")
        expect_equal([cell.get("execution_count") for cell in told], [1, 2], "the numbers")
        printed, result = (cell["outputs"] for cell in told)
        texts = ["".join(part["text"]) for part in printed if part.get("output_type") == "stream"]
        expect_equal("".join(texts), "hello\n", "the printed text")
        values = [part["data"] for part in result if part.get("output_type") == "execute_result"]
        expect(len(values) == 1 and "42" in str(values[0]), f"the value, got {shown(result)}")


@session_case("interrupt-idle", "Interrupts and time limits", "An interrupt raises in the running cell.")
def interrupt_idle(session):
    """An interrupt of a session in which no cell is running does nothing, and says so."""
    with Interpreter(session, "x = 1") as live:
        found = live.asked(202, "POST", "/interrupt", {})
        expect_equal(found.get("interrupted"), False, "`interrupted`")
        expect_equal(live.value("x"), 1, "the value")


@session_case(
    "tenants",
    REQUESTS,
    "A session of another tenant is like one that does not exist.",
    needs_other_tenant=True,
)
def tenants(session):
    """Another tenant gets the answers that a session that does not exist gets, and changes nothing."""
    other = session.of_other_tenant()
    with Interpreter(session, "x = 1") as live:
        told = []
        for id in (live.id, UNKNOWN_ID):
            kind, error = refusal(other, id, code="x = 2")
            expect_equal(kind, "session_not_found", "`data.kind`")
            told.append(error.get("message", "").replace(id, ""))
            for more in ("", "/cells", "/notebook"):
                asked(other, 404, "GET", f"/{id}{more}")
            asked(other, 404, "POST", f"/{id}/fork", {})
            asked(other, 404, "DELETE", f"/{id}")
        expect_equal(told[0], told[1], "the message, but for the id")
        expect(live.id not in ids_of(other), "the session is not listed for another tenant")
        expect_equal(live.value("x"), 1, "the value")
