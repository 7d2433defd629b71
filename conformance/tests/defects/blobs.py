"""Defects of create_blob and read_blob."""

from ..refused import wrong
from .describing import ERRORS
from .spoil import after, before, changed, defect, filling, lenient, recovering, simple


@defect("content is lost if it is short", "blobs.id")
def _(server):
    after(
        server,
        "read_blob",
        lambda found, params: changed(found, content="") if found["size_bytes"] in (6, 7) else found,
    )


def with_other_ids(server, change):
    """Stores blobs under other ids."""
    right = server.store_blob

    def store(data, kind):
        blob = right(data, kind)
        other = change(blob, data, kind)
        server.blobs[other] = (data, kind)
        return other

    server.store_blob = store


@defect("ids without `blob:`", "blobs.id-form")
def _(server):
    with_other_ids(server, lambda blob, data, kind: blob[len("blob:") :])


@defect(
    "one id for blobs of one length and kind",
    *("blobs.ids-differ",),
)
def _(server):
    with_other_ids(
        server, lambda blob, data, kind: "blob:one" if data in (b"one blob", b"another blob") else blob
    )


simple(
    "sizes in letters",
    ["blobs.size"],
    "create_blob",
    lambda created, params: (
        changed(created, size_bytes=len(params["content"])) if "encoding" not in params else created
    ),
)
filling("a blob without content", ["blobs.content-required"], "create_blob", "content", "")
lenient("content that is no text", ["blobs.content-required"], "create_blob", "content", "{}")
filling("a blob without a kind", ["blobs.kind-required"], "create_blob", "kind", "text/plain")
simple(
    "every blob is text/plain",
    ["blobs.kind"],
    "read_blob",
    lambda found, _: changed(found, kind="text/plain"),
)
simple(
    "ends of lines of blobs are changed",
    ["blobs.unchanged"],
    "read_blob",
    lambda found, _: changed(found, content=found["content"].replace("\r\n", "\n")),
)
simple(
    "blobs are stripped",
    ["blobs.unchanged"],
    "read_blob",
    lambda found, params: (
        changed(found, content=found["content"].strip()) if found["content"].startswith(" ") else found
    ),
)


@defect("large blobs are cut", "blobs.large")
def _(server):
    before(server, "create_blob", lambda params: changed(params, content=params["content"][:200000]))


@defect("empty blobs are refused", "blobs.empty")
def _(server):
    def check(params):
        if not params["content"]:
            raise wrong("content")

    before(server, "create_blob", check)


@defect("blobs are read from the end by default", "blobs.mode-default", "blobs.max-bytes-default")
def _(server):
    before(
        server,
        "read_blob",
        lambda params: (
            changed({"mode": "sample_tail"}, **params)
            if "max_bytes" in params or len(server.find_blob(params["blob_id"])[0]) == 5500
            else params
        ),
    )


@defect("1,000 bytes by default", "blobs.max-bytes-default")
def _(server):
    before(
        server,
        "read_blob",
        lambda params: params if params.get("mode") else changed({"max_bytes": 1000}, **params),
    )


@defect("limits in letters", "blobs.max-bytes")
def _(server):
    def read(found, params):
        data, _ = server.find_blob(params["blob_id"])
        if params.get("mode") is None and data.startswith("é".encode()):
            return changed(found, content=data.decode()[: params.get("max_bytes", 2000)])
        return found

    after(server, "read_blob", read)


@defect("letters are cut", "blobs.max-bytes")
def _(server):
    after(
        server,
        "read_blob",
        lambda found, params: (
            changed(found, content=found["content"] + "\ufffd") if found["content"].endswith("é") else found
        ),
    )


@defect("the head is the tail", "blobs.head")
def _(server):
    before(
        server,
        "read_blob",
        lambda params: changed(params, mode="sample_tail") if params.get("mode") == "sample_head" else params,
    )


@defect("the tail is the head", "blobs.tail", "blobs.large")
def _(server):
    before(
        server,
        "read_blob",
        lambda params: changed(params, mode="sample_head") if params.get("mode") == "sample_tail" else params,
    )


@defect("full reads are bounded", "blobs.full", "ext.large-output")
def _(server):
    before(server, "read_blob", lambda params: changed({"max_bytes": 2000}, **params))


simple(
    "nothing is ever truncated",
    ["blobs.truncated"],
    "read_blob",
    lambda found, _: changed(found, truncated=False),
)
simple(
    "everything is truncated",
    ["blobs.truncated", "blobs.full"],
    "read_blob",
    lambda found, _: changed(found, truncated=True),
)
lenient("any mode", ["blobs.mode-unknown"], "read_blob", "mode", "full")
lenient("any max_bytes", ["blobs.max-bytes-wrong"], "read_blob", "max_bytes", 2000)


@defect("missing blobs are empty", *ERRORS, "blobs.unknown", "ext.error-kind")
def _(server):
    recovering(server, "read_blob", lambda refused, params: none_there(refused))


def none_there(refused):
    """An empty blob for a missing one."""
    if refused.kind != "blob_not_found":
        raise refused
    return {"content": "", "truncated": False, "kind": "text/plain"}


@defect("blobs are files of the system", "blobs.unknown")
def _(server):
    server.blobs["blob:../../etc/passwd"] = (b"root", "text/plain")


@defect("a blob is read without an id", "blobs.id-required", "rpc.params-invalid")
def _(server):
    server.blobs["blob:last"] = (b"last", "text/plain")
    right = server.check_params

    def check(method, params):
        if method == "read_blob" and isinstance(params, dict):
            params.setdefault("blob_id", "blob:last")
        return right(method, params)

    server.check_params = check
