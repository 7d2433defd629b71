"""Defects of requests about sessions."""

from ...refused import Refused, wrong
from ..spoil import after, changed, defect, simple, without


def answering(name, cases, method, change):
    """A defect in the answer to a request: `change(answer, session, order)` gives another one."""
    simple(name, cases, method, lambda answered, *asked: (answered[0], change(answered[1], *asked)))


answering("the label is lost", ["sessions.create"], "create", lambda made, order: changed(made, label=None))


@defect("sessions that are made have no place", "sessions.create")
def _(server):
    after(server, "of_sessions", lambda reply, *_: reply.headers.pop("location", None) and reply or reply)


answering(
    "checkpoints without parents",
    ["sessions.show", "sessions.restore"],
    "session_shown",
    lambda shown, *_: changed(shown, checkpoints=[changed(one, parent=None) for one in shown["checkpoints"]]),
)
answering(
    "cells are not counted when a session is shown",
    ["sessions.show"],
    "session_shown",
    lambda shown, *_: changed(shown, cells=0),
)
answering(
    "the oldest session is the first of a page",
    ["sessions.list"],
    "all_sessions",
    lambda page, query: changed(page, sessions=page["sessions"][::-1]),
)
answering(
    "the usage is that of the page",
    ["sessions.list"],
    "all_sessions",
    lambda page, query: changed(page, usage={"sessions": min(1, len(page["sessions"]))}),
)


@defect("sessions are not closed by requests", "sessions.delete", "sessions.list", "sessions.tenants")
def _(server):
    right = server.about_sessions

    def about(verb, words, query, body):
        return (204, None) if verb == "DELETE" and len(words) == 1 else right(verb, words, query, body)

    server.about_sessions = about


answering(
    "cells without programs",
    ["sessions.cells"],
    "session_cells",
    lambda found, *_: {"cells": [without(cell, "source") for cell in found["cells"]]},
)


@defect("cells are always listed from the first", "sessions.cells")
def _(server):
    right = server.session_cells
    server.session_cells = lambda session, query: right(session, "")


answering(
    "cells of a notebook without numbers",
    ["sessions.notebook"],
    "session_notebook",
    lambda found, *_: {**found, "cells": [changed(cell, execution_count=None) for cell in found["cells"]]},
)
answering(
    "a notebook without outputs",
    ["sessions.notebook"],
    "session_notebook",
    lambda found, *_: {**found, "cells": [changed(cell, outputs=[]) for cell in found["cells"]]},
)


@defect("a notebook is JSON", "sessions.notebook")
def _(server):
    def change(reply, *_):
        reply.headers["content-type"] = "application/json"
        return reply

    after(server, "of_sessions", change)


answering(
    "an interrupt always finds a cell",
    ["sessions.interrupt-idle"],
    "session_interrupt",
    lambda *_: {"interrupted": True},
)


@defect("sessions of all tenants are seen", "sessions.tenants")
def _(server):
    server.may_see = lambda session: True


@defect("sessions of other tenants are told of", "sessions.tenants")
def _(server):
    right = server.find_session

    def find(id):
        try:
            return right(id)
        except Refused as found:
            if id in server.sessions:
                raise Refused(found.code, found.kind, f"the session `{id}` is another tenant's") from found
            raise

    server.find_session = find


@defect("a fork is the session itself", "sessions.fork", "sessions.fork-checkpoint")
def _(server):
    server.fork_of = lambda session, at: session


@defect("a fork begins anew", "sessions.fork", "sessions.fork-checkpoint", "sessions.fork-random")
def _(server):
    after(server, "fork_of", lambda fork, *_: setattr(fork, "head", None) or fork)


@defect("forks begin with the last checkpoint", "sessions.fork-checkpoint")
def _(server):
    right = server.fork_of
    server.fork_of = lambda session, at: right(session, session.head)


@defect("any number of forks is made", "sessions.fork-checkpoint")
def _(server):
    right = server.session_fork

    def fork(session, order):
        return right(session, {**order, "count": order.get("count", 1) % 16 or 1})

    server.session_fork = fork


@defect("forks draw the same numbers", "sessions.fork-random")
def _(server):
    server.reseed = lambda: None


@defect("a session does not go back", "sessions.restore", "sessions.files-remove")
def _(server):
    right = server.session_restore

    def restore(session, order):
        head = session.head
        _, shown = right(session, order)
        session.head = head
        return 200, shown

    server.session_restore = restore


@defect(
    "an unknown checkpoint is a wrong parameter",
    "sessions.restore",
    "sessions.fork-checkpoint",
    "sessions.checkpoint-name",
)
def _(server):
    right = server.checkpoint_of

    def find(session, id):
        try:
            return right(session, id)
        except Refused as found:
            raise wrong("checkpoint") from found

    server.checkpoint_of = find


answering(
    "names of checkpoints are lost",
    ["sessions.checkpoint-name"],
    "session_shown",
    lambda shown, *_: changed(shown, checkpoints=[changed(one, name=None) for one in shown["checkpoints"]]),
)


@defect("the checkpoint that a session is at can be removed", "sessions.checkpoint-name")
def _(server):
    right = server.forget
    server.forget = lambda session, id: (204, None) if id == session.head.id else right(session, id)
