"""Turns a Word, PowerPoint or Excel blob into Markdown."""

import json

from runtime import blobs, log

from markdown import Markdown
from office_zip import OfficeError
from package import Package
from page_ranges import format_pages, parse_pages

# What is returned has to stay below the 4 KB that a caller sees inline.
INLINE_BYTES = 3_300
HEADINGS_BYTES = 600
PARTS_BYTES = 600
TEXT_BYTES_LEAST = 500


def main(args):
    """Returns the text of `args["document_blob"]`; see SKILL.md."""
    try:
        return extract(args)
    except RecursionError:
        raise OfficeError("the document is nested too deeply") from None
    except MemoryError:
        raise MemoryError(
            "the document needs more memory than a run may have: raise `limits.memory_bytes`, or "
            "choose `slides` or `sheets`"
        ) from None


def extract(args):
    """Opens the document, writes it as Markdown, and arranges the result."""
    markdown, output, warnings = Markdown(), {}, []
    with blobs.open(args["document_blob"]) as stream:
        package = Package(stream)
        if package.kind == "docx":
            size = read_word(package, markdown, args)
        elif package.kind == "pptx":
            size = read_slides(package, markdown, args, output, warnings)
        else:
            size = read_workbook(package, stream, markdown, args, output, warnings)
        metadata = package.metadata()
    text = markdown.text()
    if not text:
        warnings.append("the document has no text; text in pictures cannot be read")
    log.info(f"{package.kind}: {len(text)} characters")
    headings = [{"level": level, "text": name[:80]} for level, name in markdown.headings]
    output = {
        "summary": "",
        "format": package.kind,
        "characters": len(text),
        "headings": fitting(headings, HEADINGS_BYTES),
        "table_count": markdown.tables,
        "link_count": markdown.links,
        "metadata": metadata,
        **output,
        "warnings": [warning[:300] for warning in warnings[:5]],
    }
    add_text(output, text)
    where = f"; the whole text is in {output['text_blob']}" if output["text_blob"] else ""
    output["summary"] = f"{size}, {counted(len(text), 'character')} of Markdown{where}."
    return output


def read_word(package, markdown, args):
    """Reads a Word document."""
    from word_text import WordText

    text = WordText(package, markdown, with_notes=args.get("notes", True))
    notes = f", {counted(text.note_count, 'note')}" if text.note_count else ""
    return (
        f"Word document: {counted(len(markdown.headings), 'heading')}, "
        f"{counted(markdown.tables, 'table')}{notes}"
    )


def read_slides(package, markdown, args, output, warnings):
    """Reads the chosen slides of a presentation."""
    from slides_text import SlidesText

    text = SlidesText(package, markdown, with_notes=args.get("notes", True))
    count = len(text.slides)
    try:
        numbers = parse_pages(args.get("slides") or "all", count)
    except ValueError as error:
        message = str(error).replace("page", "slide").replace("the document", "the presentation")
        raise OfficeError(message) from None
    slides = text.read(numbers)
    output["slide_count"] = count
    output["slides"] = fitting(slides, PARTS_BYTES)
    if text.hidden:
        warnings.append(f"hidden: slide {format_pages(text.hidden)}")
    chosen = f"{len(numbers)} of " if len(numbers) < count else ""
    notes = f", {text.note_count} with speaker notes" if text.note_count else ""
    return f"Presentation: {chosen}{counted(count, 'slide')}{notes}"


def read_workbook(package, stream, markdown, args, output, warnings):
    """Reads the chosen sheets of a workbook."""
    from workbook_text import WorkbookText

    text = WorkbookText(package, stream, markdown, args.get("max_rows", 1_000))
    sheets = [text.read(sheet) for sheet in text.choose(args.get("sheets"))]
    output["sheet_count"] = len(text.names)
    output["sheets"] = fitting(sheets, PARTS_BYTES)
    warnings += [f"{cut}: raise `max_rows`, or use `data.sheet.convert`" for cut in text.cut]
    if text.hidden:
        warnings.append(f"hidden: {', '.join(f'`{name}`' for name in text.hidden)}")
    rows = sum(sheet["rows"] for sheet in sheets)
    return f"Workbook: {counted(len(sheets), 'sheet')}, {counted(rows, 'row')}"


def add_text(output, text):
    """Adds the text: inline if it fits, else its beginning, with all of it in a blob."""
    room = max(INLINE_BYTES - size_of(output), TEXT_BYTES_LEAST)
    if size_of(text) <= room:
        output["text"], output["text_blob"] = text, None
        return
    output["text_blob"] = blobs.write_text(text, kind="text/markdown")
    start = text[:room]
    while size_of(start) > room:
        start = start[: len(start) * room // (size_of(start) + 1)]
    output["text"] = start.rstrip() + "…"


def counted(number, noun):
    """Returns `3 rows`, `1 row`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def fitting(values, room):
    """Returns as many of `values`, from the first, as take at most `room` bytes of JSON."""
    kept = []
    for value in values:
        room -= size_of(value) + 2
        if room < 0:
            break
        kept.append(value)
    return kept


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
