"""Defects of requests about the files of sessions."""

from ...refused import Refused
from ..spoil import after, changed, defect, recovering, simple

WRITE, REMOVE = "sessions.files-write", "sessions.files-remove"
READ, CONDITIONS = "sessions.files-read", "sessions.files-conditions"


@defect("files that are written are lost", WRITE)
def _(server):
    right = server.source_of_change
    server.source_of_change = lambda verb, *rest: "None" if verb == "PUT" else right(verb, *rest)


@defect("files that are removed stay", REMOVE)
def _(server):
    right = server.source_of_change
    server.source_of_change = lambda verb, *rest: "None" if verb == "DELETE" else right(verb, *rest)


simple(
    "a write does not say whether it has replaced a file",
    [WRITE],
    "change_file",
    lambda answered, *_: (answered[0], changed(answered[1], replaced=False)),
)


@defect("a list of files without sizes", READ)
def _(server):
    after(server, "listed_file", lambda file, *_: changed(file, size_bytes=0))


@defect("ranges of files are ignored", READ)
def _(server):
    right = server.sent_content

    def content(data, path, headers):
        return right(data, path, {name: value for name, value in headers.items() if name != "Range"})

    server.sent_content = content


@defect("a read is a checkpoint", READ, CONDITIONS)
def _(server):
    right = server.of_file

    def of_file(verb, files, *rest):
        if verb == "GET":
            session = server.find_session(files[0].split("/")[3])
            server.go_on(session, list(session.head.sources))
        return right(verb, files, *rest)

    server.of_file = of_file


@defect("changes of files heed no checkpoint", CONDITIONS)
def _(server):
    right = server.change_file
    server.change_file = lambda verb, session, path, query, body: right(verb, session, path, "", body)


@defect("a file that is not there is empty", REMOVE)
def _(server):
    def recover(refused, *_):
        if refused.kind != "file_not_found":
            raise refused
        return b""

    recovering(server, "workspace_file", recover)


@defect("a file that is not there is a wrong parameter", REMOVE)
def _(server):
    def recover(refused, *_):
        raise Refused(refused.code, "invalid_params", str(refused))

    recovering(server, "workspace_file", recover)
