"""create_blob and read_blob."""

from ..case import BLOBS, MUST, SCHEMAS, SHOULD, TOOLS, case, expect, expect_equal, shown

CREATE = "create_blob"
READ = "read_blob"
LONG = "".join(f"line {number:05}\n" for number in range(500))  # 5,500 bytes


def read(session, blob, **params):
    """A part of a blob; `content` is checked to be a text."""
    found = session.call("read_blob", blob_id=blob, **params)
    content = found.get("content")
    expect(isinstance(content, str), f"`content` is a text, got {shown(content)}")
    return found


@case("blobs.id", MUST, TOOLS(CREATE, "Store large content as a blob and return its ID."))
def blob_id(session):
    """`blob_id` is a text by which the content can be read."""
    blob = session.create_blob("a blob")
    expect_equal(read(session, blob)["content"], "a blob", "`content`")


@case("blobs.id-form", SHOULD, BLOBS("Return value", "Ids of blobs have the form `blob:<id>`."))
def id_form(session):
    """`blob_id` begins with `blob:`."""
    blob = session.create_blob("a blob")
    expect(blob.startswith("blob:") and len(blob) > 5, f"`blob:` and an id, got {shown(blob)}")


@case("blobs.ids-differ", MUST, TOOLS(READ, "Blob identifier"))
def ids_differ(session):
    """Blobs with different contents have different ids, and each keeps its content."""
    one, other = session.create_blob("one blob"), session.create_blob("another blob")
    expect(one != other, f"two ids, got {shown(one)} twice")
    expect_equal(read(session, one)["content"], "one blob", "`content` of the first")
    expect_equal(read(session, other)["content"], "another blob", "`content` of the second")


@case("blobs.size", MUST, TOOLS(CREATE, "size_bytes"))
def size(session):
    """`size_bytes` counts bytes of UTF-8 and not letters."""
    for content in ("ascii", "Zürich 東京 🙂"):
        created = session.call("create_blob", content=content, kind="text/plain")
        expect_equal(created.get("size_bytes"), len(content.encode()), f"`size_bytes` of {content!r}")


@case("blobs.content-required", MUST, SCHEMAS(CREATE, '"required": ["content", "kind"]'))
def content_required(session):
    """A call without `content`, or with one that is no text, is refused."""
    session.error("create_blob", kind="text/plain")
    session.error("create_blob", kind="text/plain", content={"a": 1})


@case("blobs.kind-required", MUST, SCHEMAS(CREATE, '"required": ["content", "kind"]'))
def kind_required(session):
    """A call without `kind` is refused."""
    session.error("create_blob", content="a blob")


@case("blobs.kind", MUST, TOOLS(CREATE, "MIME type (e.g., 'text/plain', 'application/json')"))
def kind_kept(session):
    """read_blob returns the `kind` that was given."""
    for kind, content in (
        ("text/csv", "a,b\n1,2\n"),
        ("application/json", '{"a": 1}'),
        ("text/markdown", "# A"),
    ):
        expect_equal(read(session, session.create_blob(content, kind)).get("kind"), kind, "`kind`")


@case("blobs.unchanged", MUST, TOOLS(CREATE, "Content to store"))
def unchanged(session):
    """Content comes back to the letter: ends of lines, blanks, letters beyond ASCII."""
    content = ' first\r\nsecond\nthird\t"quoted" \\ Zürich 東京 🙂\n\n '
    expect_equal(read(session, session.create_blob(content), mode="full")["content"], content, "`content`")


@case("blobs.large", MUST, TOOLS(CREATE, "Store large content as a blob"))
def large(session):
    """A blob of 500,000 bytes is stored whole."""
    content = "0123456789" * 50000 + "end"
    created = session.call("create_blob", content=content, kind="text/plain")
    expect_equal(created.get("size_bytes"), len(content), "`size_bytes`")
    expect_equal(
        read(session, created["blob_id"], mode="sample_tail", max_bytes=5)["content"], "89end", "the end"
    )


@case("blobs.empty", SHOULD, TOOLS(CREATE, "Content to store"))
def empty(session):
    """An empty text can be stored."""
    created = session.call("create_blob", content="", kind="text/plain")
    expect_equal(created.get("size_bytes"), 0, "`size_bytes`")
    expect_equal(read(session, created["blob_id"])["content"], "", "`content`")


@case("blobs.mode-default", MUST, SCHEMAS(READ, '"default": "sample_head"'))
def mode_default(session):
    """Without `mode` the beginning is read."""
    blob = session.create_blob(LONG)
    expect_equal(read(session, blob, max_bytes=22)["content"], LONG[:22], "`content`")


@case("blobs.max-bytes-default", MUST, SCHEMAS(READ, '"default": 2000'))
def max_bytes_default(session):
    """Without `max_bytes` 2,000 bytes are read."""
    expect_equal(read(session, session.create_blob(LONG))["content"], LONG[:2000], "`content`")


@case("blobs.max-bytes", MUST, SCHEMAS(READ, "Maximum bytes to return"))
def max_bytes(session):
    """`max_bytes` bounds bytes and not letters; a letter is never cut."""
    content = "é" * 100
    found = read(session, session.create_blob(content), max_bytes=51)["content"]
    expect(len(found.encode()) <= 51, f"at most 51 bytes, got {len(found.encode())}")
    expect(found and content.startswith(found), f"the beginning of the content, got {shown(found)}")


@case("blobs.head", MUST, BLOBS("read_blob", '"sample_head" gives the first `max_bytes` of the content.'))
def head(session):
    """\"sample_head\" reads the beginning."""
    blob = session.create_blob(LONG)
    found = read(session, blob, mode="sample_head", max_bytes=33)
    expect_equal(found["content"], LONG[:33], "`content`")


@case("blobs.tail", MUST, BLOBS("read_blob", '"sample_tail" gives the last `max_bytes` of the content.'))
def tail(session):
    """\"sample_tail\" reads the end."""
    found = read(session, session.create_blob(LONG), mode="sample_tail", max_bytes=33)
    expect_equal(found["content"], LONG[-33:], "`content`")


@case("blobs.full", MUST, SCHEMAS(READ, '"enum": ["sample_head", "sample_tail", "full"]'))
def full(session):
    """\"full\" reads all of a blob that is larger than 2,000 bytes."""
    found = read(session, session.create_blob(LONG), mode="full")
    expect_equal(found["content"], LONG, "`content`")
    expect_equal(found.get("truncated"), False, "`truncated`")


@case("blobs.truncated", MUST, TOOLS(READ, '"truncated": true'))
def truncated(session):
    """`truncated` is true if the blob has more than is shown, and false if not."""
    blob = session.create_blob(LONG)
    for params, wanted in (({}, True), ({"mode": "sample_tail"}, True), ({"max_bytes": 10000}, False)):
        expect_equal(read(session, blob, **params).get("truncated"), wanted, f"`truncated` with {params}")


@case("blobs.mode-unknown", SHOULD, SCHEMAS(READ, "How to sample the blob"))
def mode_unknown(session):
    """A `mode` that does not exist is refused."""
    session.error("read_blob", blob_id=session.create_blob("a blob"), mode="sample_middle")


@case("blobs.max-bytes-wrong", SHOULD, SCHEMAS(READ, "Maximum bytes to return"))
def max_bytes_wrong(session):
    """A `max_bytes` that is no positive integer is refused."""
    blob = session.create_blob("a blob")
    for wrong in (-1, "many"):
        session.error("read_blob", blob_id=blob, max_bytes=wrong)


@case("blobs.unknown", MUST, TOOLS(READ, "Blob identifier"))
def unknown(session):
    """A blob that is not there is refused, also one that is named by a path."""
    for blob in ("blob:conformance-no-such", "../../etc/passwd", "blob:../../etc/passwd"):
        session.error("read_blob", blob_id=blob)


@case("blobs.id-required", MUST, SCHEMAS(READ, '"required": ["blob_id"]'))
def id_required(session):
    """A call without `blob_id` is refused."""
    session.error("read_blob", mode="full")
