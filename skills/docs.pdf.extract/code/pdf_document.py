"""Opens a PDF and takes out text and metadata, with errors that say what to do."""

import logging

from pypdf import PdfReader
from pypdf.errors import FileNotDecryptedError, PyPdfError
from runtime import log

HEADER_BYTES = 1_024

# Typesetters join these letters; searching for words needs them apart.
LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ft", "ﬆ": "st", "\0": None}
)

METADATA = {
    "title": "title",
    "author": "author",
    "subject": "subject",
    "keywords": "keywords",
    "creator": "creator",
    "producer": "producer",
    "created": "creation_date",
    "modified": "modification_date",
}
METADATA_LETTERS = 200


class PdfError(ValueError):
    """The PDF cannot be read; the message says why."""


class PdfDocument:
    """A PDF that is open and decrypted."""

    def __init__(self, stream, password):
        head = stream.read(HEADER_BYTES)
        if b"%PDF-" not in head:
            start = head[:8].decode("ascii", "backslashreplace")
            found = f"it starts with `{start}`" if head else "it is empty"
            raise PdfError(f"the blob is not a PDF: {found}")
        stream.seek(0)
        logging.getLogger("pypdf").setLevel(logging.ERROR)
        try:
            self._reader = PdfReader(stream)
            self.page_count = self._count_pages(password)
        except PdfError:
            raise
        except MemoryError:
            raise
        except Exception as error:
            raise PdfError(f"the PDF is damaged: {describe(error)}") from error

    def _count_pages(self, password):
        """Returns how many pages there are, decrypting with `password` if it is needed."""
        try:
            return len(self._reader.pages)
        except FileNotDecryptedError:
            if not password:
                raise PdfError("the PDF is encrypted: pass its `password`") from None
        if not self._reader.decrypt(password):
            raise PdfError("the `password` does not open the PDF")
        return len(self._reader.pages)

    def page_text(self, number, is_layout):
        """Returns the text of page `number`, counted from 1.

        Raises `PdfError` if this page is damaged.
        """
        try:
            page = self._reader.pages[number - 1]
            text = page.extract_text(extraction_mode="layout" if is_layout else "plain")
        except MemoryError:
            raise
        except Exception as error:
            log.warning(f"page {number}: {describe(error)}")
            raise PdfError(describe(error)) from error
        return clean(text)

    def metadata(self):
        """Returns what the PDF says about itself: texts, and dates as ISO 8601."""
        about = self._reader.metadata
        found = {}
        for name, attribute in METADATA.items() if about is not None else ():
            try:
                value = getattr(about, attribute)
            except Exception as error:
                log.debug(f"metadata {name}: {describe(error)}")
                continue
            text = value.isoformat() if hasattr(value, "isoformat") else clean(str(value or ""))
            if text.strip():
                found[name] = text.strip()[:METADATA_LETTERS]
        return found


def describe(error):
    """Returns what an exception says, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:300] if isinstance(error, PyPdfError) else f"{type(error).__name__}: {text[:300]}"


def clean(text):
    """Returns text that can be stored: no halves of characters, no joined letters."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.translate(LIGATURES)
