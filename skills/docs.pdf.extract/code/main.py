"""Takes the text of each page and the metadata out of a PDF blob."""

import json

from runtime import blobs, log

from page_ranges import format_pages, parse_pages
from pdf_document import PdfDocument, PdfError

# What is returned has to stay below the 4 KB that a caller sees inline: a whole text, or the
# beginning of one that is in a blob.
TEXT_BYTES = 1_800
BEGINNING_LETTERS = 600
PAGES_BYTES = 700


def main(args):
    """Returns text and metadata of `args["pdf_blob"]`; see SKILL.md."""
    with blobs.open(args["pdf_blob"], "rb") as stream:
        document = PdfDocument(stream, args.get("password"))
        numbers = parse_pages(args.get("pages") or "all", document.page_count)
        texts, damaged = read_pages(document, numbers, bool(args.get("layout")))
        metadata = document.metadata()
    blank = [number for number, text in texts.items() if not text.strip()]
    whole = join_pages(texts) if len(blank) < len(texts) else ""
    is_short = size_of(whole) <= TEXT_BYTES
    text_blob = None if is_short else blobs.write_text(whole, kind="text/plain")
    characters = sum(map(len, texts.values()))
    return {
        "summary": summarise(document.page_count, texts, characters, text_blob),
        "page_count": document.page_count,
        "characters": characters,
        "text": whole if is_short else whole[:BEGINNING_LETTERS].rstrip() + "…",
        "text_blob": text_blob,
        "pages": describe_pages(texts),
        "metadata": metadata,
        "warnings": warn(blank, damaged, len(texts)),
    }


def read_pages(document, numbers, is_layout):
    """Returns the texts of the pages, and the messages of those that cannot be read."""
    texts, damaged = {}, {}
    for number in numbers:
        try:
            texts[number] = document.page_text(number, is_layout)
        except PdfError as error:
            damaged[number] = str(error)
    if damaged and not texts:
        number, message = next(iter(damaged.items()))
        raise PdfError(f"none of the pages can be read; page {number}: {message}")
    log.info(f"read {len(texts)} of {document.page_count} pages")
    return texts, damaged


def join_pages(texts):
    """Returns the pages one after the other, each below a line that gives its number."""
    return "\n".join(f"--- page {number} ---\n{text.rstrip()}\n" for number, text in texts.items())


def describe_pages(texts):
    """Returns how much text each page has, for as many pages as fit."""
    pages, room = [], PAGES_BYTES
    for number, text in texts.items():
        page = {"page": number, "characters": len(text)}
        room -= size_of(page) + 2
        if room < 0:
            break
        pages.append(page)
    return pages


def summarise(page_count, texts, characters, text_blob):
    """Returns the one sentence that a caller reads first."""
    pages = f"{page_count} page" + ("" if page_count == 1 else "s")
    if len(texts) < page_count:
        pages = f"{len(texts)} of {pages}"
    if not characters:
        return f"{pages}, without any text."
    where = f"; the whole text is in {text_blob}" if text_blob else ""
    return f"{pages}, {characters:,} characters{where}."


def warn(blank, damaged, read):
    """Returns what a reader of the text has to know."""
    warnings = []
    if blank:
        hint = (
            ": the PDF is probably scanned, and nothing here can read images"
            if (len(blank) == read)
            else ""
        )
        warnings.append(f"no text on page {format_pages(blank)[:200]}{hint}")
    if damaged:
        first = next(iter(damaged.values()))
        warnings.append(f"cannot be read: page {format_pages(damaged)[:200]} ({first[:200]})")
    return warnings


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
