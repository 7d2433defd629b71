"""The sessions of the stand-in. A state is the list of the cells that led to it."""

import hashlib
import json
import random
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import List, Optional

from skills_protocol_conformance.transport import Reply

from .interpreter import Interpreter
from .kept_files import FilesOfStandIn
from .refused import Refused, wrong

ORDER = {"id": str, "if_checkpoint": str, "keep": bool, "wait_ms": int}
NOT_IN_CELLS = ("args", "detach", "entrypoint", "idempotency_key")
STATUS = {
    "session_not_found": 404,
    "checkpoint_not_found": 404,
    "file_not_found": 404,
    "session_conflict": 409,
}


@dataclass
class Checkpoint:
    """A state: what was executed, and which cell was the last."""

    id: str
    cell: int
    parent: Optional[str]
    sources: List[str]
    name: Optional[str] = None

    def shown(self):
        return {"id": self.id, "cell": self.cell, "parent": self.parent, "name": self.name, "bytes": 1}


@dataclass
class Kept:
    """A session."""

    id: str
    tenant: str
    blobs: List[str]
    label: Optional[str] = None
    checkpoints: List[Checkpoint] = field(default_factory=list)
    head: Optional[Checkpoint] = None
    cells: List[dict] = field(default_factory=list)
    number: int = 0
    forked_from: Optional[dict] = None
    must_reseed: bool = False
    seed: Optional[int] = None
    turn: threading.Lock = field(default_factory=threading.Lock)
    created_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def shown(self):
        return {
            "id": self.id,
            "label": self.label,
            "created_ms": self.created_ms,
            "used_ms": self.created_ms,
            "expires_ms": self.created_ms + 86_400_000,
            "cells": self.number,
            "checkpoint": self.head.id if self.head else None,
            "is_warm": False,
            "guest_memory_bytes": None,
            "parked_own_bytes": 0,
            "parked_shared_bytes": 0,
            "forked_from": self.forked_from,
            "run_id": None,
        }


class SessionsOfStandIn(FilesOfStandIn):
    """The part of the stand-in that has sessions."""

    def __init__(self):
        self.sessions = {}

    # Calls

    def cell(self, params):
        """The result of a cell."""
        order = params.pop("session")
        order = {"id": order} if isinstance(order, str) else order
        self.check_order(order)
        if "answers" in params:
            return self.go_on_with(self.find_session(order.get("id")), params["answers"])
        for name in self.not_in_cells():
            if name in params:
                raise wrong(name, "is left out in a call with `session`")
        session = self.session_of(order.get("id", "new"), params)
        self.take_turn(session, order)
        try:
            self.check_checkpoint(session, order.get("if_checkpoint"))
            result = self.run_in(session, params)
        finally:
            session.turn.release()
        if order.get("keep") is False:
            self.close(session)
            result["session"].update(state="closed", checkpoint=None)
        return result

    def check_order(self, order):
        """Refuses unknown and wrong members of `session`."""
        for name, value in order.items():
            is_right = name in ORDER and isinstance(value, ORDER[name])
            if not is_right or (ORDER[name] is int and isinstance(value, bool)):
                raise wrong(f"session.{name}")

    def not_in_cells(self):
        return NOT_IN_CELLS

    def session_of(self, id, params):
        """The session of a call; it is made if the id is that of a new one."""
        if id == "new":
            blobs = params.get("input_blobs", [])
            seed = self.seed_of(params.pop("reproducible", False))
            return self.add(Kept(self.new_id(), self.caller.tenant, blobs, seed=seed))
        session = self.find_session(id)
        for name in ("mount_skills", "input_blobs", "reproducible"):
            if params.get(name):
                raise wrong(name, "is decided by the first call of a session")
        if "memory_bytes" in params.get("limits", {}):
            raise wrong("limits.memory_bytes", "is decided by the first call of a session")
        return session

    def new_id(self):
        return f"ses_{uuid.uuid4().hex[:26]}"

    def add(self, session):
        self.sessions[session.id] = session
        return session

    def find_session(self, id):
        """The session of this tenant with this id."""
        session = self.sessions.get(id)
        if session is None or not self.may_see(session):
            raise Refused(-32602, "session_not_found", f"the session `{id}` does not exist")
        return session

    def may_see(self, session):
        return session.tenant == self.caller.tenant

    def take_turn(self, session, order):
        """Waits until no other cell runs in the session."""
        if not session.turn.acquire(timeout=order.get("wait_ms", 0) / 1000):
            raise Refused(1008, "session_busy", "another call runs in the session")

    def check_checkpoint(self, session, wanted):
        """Refuses a call whose caller thinks that the session is elsewhere."""
        at = session.head.id if session.head else None
        if wanted is not None and wanted != at:
            raise Refused(1009, "session_conflict", f"the session is at checkpoint `{at}`")

    def run_in(self, session, params):
        """The result of a cell whose turn it is."""
        sources = list(session.head.sources) if session.head else []
        if session.seed is not None:
            random.seed(session.seed)
        program = self.interpreter(session.blobs, self.timeout_of(params), sources)
        if session.must_reseed and session.seed is None:
            self.reseed()
        session.must_reseed = False
        result = self.run(program, params["code"], "main.py", None, {}, params)
        if program.display:
            result["display"] = program.display
        session.number += 1
        state = {"id": session.id, "cell": session.number}
        if result["status"] == "failed" and self.is_lost(result["error"]):
            at = session.head.id if session.head else None
            state.update(state="rolled_back", checkpoint=at, reason=result["error"]["message"])
        else:
            self.go_on(session, [*sources, params["code"]])
            state.update(state="kept", checkpoint=session.head.id)
            if session.seed is not None:
                state["state_digest"] = self.state_digest(session)
        result["session"] = state
        at = state["checkpoint"] if state["state"] == "kept" else None
        cell = {"number": session.number, "source": params["code"], "began_ms": 1, "checkpoint": at}
        session.cells.append({**cell, "state": state["state"], "result": dict(result)})
        return result

    def interpreter(self, blobs, timeout_ms, sources):
        """The program of the next cell, after these ones."""
        return Interpreter(self, blobs, timeout_ms, sources)

    def is_lost(self, error):
        """True for an end after which there is no state to keep."""
        return error["type"] in ("Timeout", "SandboxCrash")

    def go_on(self, session, sources):
        """Makes the checkpoint after a cell."""
        parent = session.head.id if session.head else None
        id = f"c{session.number}-{uuid.uuid4().hex[:16]}"
        session.head = Checkpoint(id, session.number, parent, sources)
        session.checkpoints.append(session.head)

    def seed_of(self, reproducible):
        """The seed of a session whose first call has this parameter; `None` if it is an ordinary one."""
        return reproducible.get("seed", 0) if isinstance(reproducible, dict) else 0 if reproducible else None

    def state_digest(self, session):
        """Names the state of a reproducible session."""
        return hashlib.sha256(repr((session.seed, session.head.sources)).encode()).hexdigest()

    def reseed(self):
        """Lets a state that goes on a second time draw other numbers."""
        random.seed()

    def name_of_cell(self, number):
        return f"<cell {number}>"

    def files_before(self, files, mounted):
        """The files that are not results of the next cell while they stay as they are."""
        return files

    def close(self, session):
        self.sessions.pop(session.id, None)

    # Requests

    def of_sessions(self, verb, place, query, body):
        """The answer to a request at or below /v1/sessions."""
        kind = "application/x-ipynb+json" if place.endswith("/notebook") else "application/json"
        headers = {"content-type": kind}
        try:
            status, answer = self.about_sessions(verb, place.split("/")[3:], query, body)
        except Refused as refused:
            status, answer = self.refused_request(refused)
        if status == 201 and "id" in answer:
            headers["location"] = f"/v1/sessions/{answer['id']}"
        return Reply(status, headers, b"" if answer is None else json.dumps(answer).encode())

    def refused_request(self, refused):
        """Status and answer of a request that is refused."""
        return STATUS.get(refused.kind, 400), self.refusal(None, refused)

    def about_sessions(self, verb, words, query, body):
        """Status and answer of a request, by the words behind /v1/sessions."""
        order = json.loads(body) if body else {}
        if not words:
            return self.all_sessions(query) if verb == "GET" else self.create(order)
        session, word = self.find_session(words[0]), (words[1:] or [""])[0]
        if verb == "DELETE" and word == "checkpoints":
            return self.forget(session, words[2])
        if verb == "DELETE":
            self.close(session)
            return 204, None
        return getattr(self, f"session_{word or 'shown'}")(session, query if verb == "GET" else order)

    def create(self, order):
        session = self.add(Kept(self.new_id(), self.caller.tenant, [], order.get("label")))
        return 201, session.shown()

    def all_sessions(self, query):
        """A page of the sessions of the tenant."""
        asked = dict(part.split("=") for part in query.split("&") if part)
        begin, limit = int(asked.get("cursor", 0)), int(asked.get("limit", 50))
        found = [session for session in reversed(self.sessions.values()) if self.may_see(session)]
        page = found[begin : begin + limit]
        cursor = str(begin + limit) if begin + limit < len(found) else None
        usage = {"sessions": len(found), "bytes": len(found)}
        return 200, {"sessions": [one.shown() for one in page], "next_cursor": cursor, "usage": usage}

    def session_shown(self, session, _):
        return 200, {**session.shown(), "checkpoints": [one.shown() for one in session.checkpoints]}

    def session_cells(self, session, query):
        after = int(query.partition("after=")[2] or 0)
        return 200, {"cells": [cell for cell in session.cells if cell["number"] > after]}

    def session_notebook(self, session, _):
        """The cells as a notebook."""
        cells = []
        for cell in session.cells:
            outputs, result = [], cell["result"]
            if result["logs_preview"]:
                outputs.append({"output_type": "stream", "name": "stdout", "text": result["logs_preview"]})
            if result["output"] is not None:
                data = {"text/plain": str(result["output"].get("result"))}
                outputs.append({"output_type": "execute_result", "data": data, "metadata": {}})
            count = cell["number"]
            cells.append(
                {"cell_type": "code", "execution_count": count, "source": cell["source"], "outputs": outputs}
            )
        return 200, {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}

    def session_interrupt(self, session, _):
        return 202, {"interrupted": session.turn.locked()}

    def checkpoint_of(self, session, id):
        """A checkpoint of a session; that which it is at unless one is named."""
        found = [one for one in session.checkpoints if one.id == id] if id else [session.head]
        if not found:
            raise Refused(-32602, "checkpoint_not_found", f"the checkpoint `{id}` does not exist")
        return found[0]

    def session_fork(self, session, order):
        """Sessions that begin with a checkpoint of this one."""
        count, at = order.get("count", 1), self.checkpoint_of(session, order.get("checkpoint"))
        if not 1 <= count <= 16:
            raise wrong("count")
        forks = [self.add(self.fork_of(session, at)) for _ in range(count)]
        return 201, {"forks": [fork.shown() for fork in forks]}

    def fork_of(self, session, at):
        fork = Kept(self.new_id(), session.tenant, session.blobs, number=at.cell, must_reseed=True)
        fork.head = Checkpoint(at.id, at.cell, None, at.sources)
        fork.checkpoints.append(fork.head)
        fork.forked_from = {"session": session.id, "checkpoint": at.id}
        return fork

    def session_restore(self, session, order):
        """Goes back to a checkpoint."""
        session.head = self.checkpoint_of(session, order["checkpoint"])
        session.must_reseed = True
        return 200, session.shown()

    def session_checkpoints(self, session, order):
        """Names a checkpoint."""
        found = self.checkpoint_of(session, order.get("checkpoint"))
        found.name = order["name"]
        return 200, found.shown()

    def forget(self, session, id):
        """Removes a checkpoint."""
        found = self.checkpoint_of(session, id)
        if found is session.head:
            raise Refused(1009, "session_conflict", "the session is at this checkpoint")
        session.checkpoints.remove(found)
        return 204, None
