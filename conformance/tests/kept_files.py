"""The files of the sessions of the stand-in. A change is a cell without a program: a source that does it."""

import hashlib
import json

from skills_protocol_conformance.transport import Reply

from .refused import Refused

KINDS = {"csv": "text/csv", "txt": "text/plain"}
WORKSPACE = "/workspace/"


class FilesOfStandIn:
    """The part of the stand-in that has the files of sessions."""

    def of_file(self, verb, files, query, headers, body):
        """The answer to a request for a file: `files` is the place of its session, and its path."""
        place, _, path = files
        try:
            session = self.find_session(place.split("/")[3])
            if verb == "GET":
                return self.sent_content(self.workspace_file(session, path), path, headers)
            status, change = self.change_file(verb, session, path, query, body)
        except Refused as refused:
            status, change = self.refused_request(refused)
        return Reply(status, {"content-type": "application/json"}, json.dumps(change).encode())

    def workspace_of(self, session):
        """The files in the working folder of a session, with their contents."""
        sources = list(session.head.sources) if session.head else []
        program = self.interpreter(session.blobs, 1_000, sources)
        found = {path: data for path, data in program.files.items() if path.startswith(WORKSPACE)}
        return {path[len(WORKSPACE) :]: data for path, data in sorted(found.items())}

    def workspace_file(self, session, path):
        """The content of a file."""
        found = self.workspace_of(session)
        if path not in found:
            raise Refused(-32602, "file_not_found", f"the session has no file `{path}`")
        return found[path]

    def session_files(self, session, _):
        """The list of files."""
        found = self.workspace_of(session).items()
        listed = [self.listed_file(path, data) for path, data in found]
        at = session.head.id if session.head else None
        return 200, {"files": listed, "next_cursor": None, "unlisted": 0, "checkpoint": at}

    def listed_file(self, path, data):
        return {"path": path, "kind": "file", "size_bytes": len(data), "modified_ms": 1}

    def sent_content(self, data, path, headers):
        """The answer with a content, or a part of it."""
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        told = {"content-type": KINDS.get(path.rpartition(".")[2], "text/plain"), "etag": tag}
        if headers.get("If-None-Match") == tag:
            return Reply(304, told, b"")
        if "Range" not in headers:
            return Reply(200, told, data)
        first, _, last = headers["Range"].partition("=")[2].partition("-")
        return Reply(206, told, data[int(first) : int(last) + 1])

    def change_file(self, verb, session, path, query, body):
        """Status and answer of a change."""
        self.check_checkpoint(session, query.partition("if_checkpoint=")[2] or None)
        replaced = path in self.workspace_of(session)
        if verb == "DELETE":
            self.workspace_file(session, path)
        source = self.source_of_change(verb, WORKSPACE + path, body.decode())
        session.number += 1
        self.go_on(session, [*(session.head.sources if session.head else []), source])
        state = {"id": session.id, "cell": session.number, "checkpoint": session.head.id, "state": "kept"}
        size = {"size_bytes": len(body)} if verb == "PUT" else {}
        return 200 if replaced else 201, {"path": path, **size, "replaced": replaced, "session": state}

    def source_of_change(self, verb, path, text):
        """The source that makes a change."""
        if verb == "DELETE":
            return f"open.__self__.files.pop({path!r})\nNone"
        return f"open({path!r}, 'w').write({text!r})\nNone"
