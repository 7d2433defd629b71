"""A session of a server, cell by cell, and what its cells show."""

import contextlib
import http.client
import json
import re
import time

import served

PATIENT_MS = 300_000
"""A limit that no cell reaches, even if the machine is busy with other work."""

VARYING = ("run_id", "duration_ms", "memory_peak_bytes", "session", "network")
"""Members of a result that differ from run to run. Sessions that are not reproducible count no fuel."""

BLOB = re.compile(r"blob:[a-z0-9]{20,}")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{5,}")
"""Where an object is. That depends on the random order of sets, which is another one in each session."""
"""Each server gives the same content another id."""

COMPLETED = re.compile(r"^Completed in [\d.]+ m?s\.")


class Session:
    """A session that begins with its first cell; a context manager, which closes it."""

    def __init__(self, server, key=None, **first):
        self.client = server.client(key)
        self.id = None
        self.state = None
        self.checkpoint = None
        self._first = first

    def cell(self, code, **params):
        """The result of a cell."""
        params = {"timeout_ms": PATIENT_MS, **params}
        session = self.id or "new"
        if self.id is None:
            params = {**self._first, **params}
        order = {"language": "python", "code": code, "session": session, **params}
        result = patiently(self.client, order)
        self.id, self.state = result["session"]["id"], result["session"]["state"]
        self.checkpoint = result["session"]["checkpoint"]
        return result

    def ask(self, verb, path="", body=None):
        """Status and body of the answer to a request about this session."""
        return ask(self.client, verb, f"/{self.id}{path}", body)

    def is_warm(self):
        """True if a worker keeps the interpreter."""
        status, body = self.ask("GET")
        if status != 200:
            raise RuntimeError(f"a session that is open was answered with {status}: {body[:300]}")
        return json.loads(body)["is_warm"]

    def close(self):
        """Closes the session."""
        if self.id is not None and self.state != "closed":
            self.ask("DELETE")
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # The server may be gone.
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.close()


def ask(client, verb, path, body=None):
    """Status and body of the answer to a request about sessions."""
    text = None if body is None else json.dumps(body)
    return client.request(verb, f"/v1/sessions{path}", text, {"Content-Type": "application/json"})


def patiently(client, order):
    """The result of a call that a busy server may refuse at first. A call that was refused did nothing."""
    for _ in range(600):
        try:
            return client.call("run_code", order)
        except served.Refused as refused:
            if refused.kind not in ("overloaded", "rate_limited"):
                raise
            time.sleep(1)
    raise RuntimeError("the server stays busy")


def shown(result):
    """All that a cell shows, without what differs from run to run and from server to server."""
    kept = {name: value for name, value in result.items() if name not in VARYING}
    kept["state"] = result.get("session", {}).get("state")
    kept["summary"] = COMPLETED.sub("Completed.", result["summary"])
    return json.loads(ADDRESS.sub("at 0x", BLOB.sub("blob:", json.dumps(kept))))
