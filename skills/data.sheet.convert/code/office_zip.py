"""Opens the ZIP archive of an Office document, and says why one cannot be read.

Other skills carry the same file, because a skill has to be complete in its own folder.
"""

import xml.parsers.expat
import zipfile
import zlib

MAX_ENTRIES = 20_000
MAX_UNPACKED = 1 << 30

# Deflate reaches 1,032 times; large documents of Office stay far below this.
MAX_RATIO = 250
RATIO_COUNTS_FROM = 64 << 20
PROLOG_BYTES = 64 << 10

# The archive is not trusted, so any of these can come from any part.
DAMAGES = (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError)


class OfficeError(ValueError):
    """The document cannot be read; the message says why and what to do."""


class _Done(Exception):
    """The root element is reached."""


class _Declared(Exception):
    """A document type is declared."""


def open_package(stream, expected):
    """Returns the open archive, after a look at the sizes that it declares.

    Raises `OfficeError` for other formats, encrypted and damaged files, and bombs.
    """
    head = stream.read(8)
    stream.seek(0)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise OfficeError(explain_compound(stream.read(), expected))
    if not head.startswith(b"PK"):
        raise OfficeError(f"the blob is not {expected}: {explain_other(head)}")
    try:
        package = zipfile.ZipFile(stream)
        entries = package.infolist()
    except DAMAGES as error:
        raise OfficeError(f"the file is damaged, or cut off: {error}") from None
    if any(entry.flag_bits & 1 for entry in entries):
        raise OfficeError("the archive is encrypted: save the document without a password")
    if len(entries) > MAX_ENTRIES:
        raise OfficeError(f"the archive has {len(entries):,} entries; {MAX_ENTRIES:,} are possible")
    unpacked = sum(entry.file_size for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    is_bomb = unpacked > RATIO_COUNTS_FROM and unpacked / packed > MAX_RATIO
    if unpacked > MAX_UNPACKED or is_bomb:
        raise OfficeError(
            f"the archive unpacks to {unpacked >> 20:,} MiB, {unpacked // packed:,} times its size"
        )
    names = {entry.filename for entry in entries}
    if "[Content_Types].xml" not in names:
        is_open_document = "mimetype" in names and "content.xml" in names
        found = (
            "an OpenDocument file: save it as docx, xlsx or pptx"
            if is_open_document
            else ("another kind of ZIP archive")
        )
        raise OfficeError(f"the blob is not {expected}: it is {found}")
    for entry in entries:
        if entry.filename.lower().endswith((".xml", ".rels", ".vml")):
            refuse_declarations(package, entry)
    return package


def refuse_declarations(package, entry):
    """Raises `OfficeError` for XML with a document type: Office never writes one, attacks do.

    A document type stands before the root element, so only the beginning is read.
    """
    parser = xml.parsers.expat.ParserCreate()

    def refuse(*_):
        raise _Declared

    def stop(*_):
        raise _Done

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        with package.open(entry) as part:
            start = part.read(PROLOG_BYTES)
            parser.Parse(start, False)
    except _Done:
        return
    except _Declared:
        raise OfficeError(
            f"`{entry.filename}` declares a document type, which is not read"
        ) from None
    except (xml.parsers.expat.ExpatError, zlib.error, LookupError, *DAMAGES):
        # Damaged parts are only an error if they are needed.
        return
    if len(start) == PROLOG_BYTES:
        raise OfficeError(
            f"`{entry.filename}` has no element in its first {PROLOG_BYTES >> 10} KiB"
        )


def explain_compound(data, expected):
    """Returns what an OLE compound file is: an encrypted document, or one of an old format."""
    names = {
        "EncryptedPackage": "the document is encrypted with a password: save it without one",
        "WordDocument": "the blob is an old Word document (doc): save it as docx",
        "PowerPoint Document": "the blob is an old presentation (ppt): save it as pptx",
        "Workbook": "the blob is an old Excel workbook (xls): save it as xlsx",
        "Book": "the blob is an old Excel workbook (xls): save it as xlsx",
    }
    for name, message in names.items():
        if name.encode("utf-16-le") + b"\0\0" in data:
            return message
    return f"the blob is not {expected}: it is an OLE compound file"


def explain_other(head):
    """Returns a guess at a format from its first bytes."""
    known = {
        b"%PDF": "it is a PDF, use `docs.pdf.extract`",
        b"{\\rt": "it is RTF",
        b"": "it is empty",
    }
    return known.get(head[:4], f"it starts with `{head.decode('ascii', 'backslashreplace')}`")
