"""Takes readable text, links, tables and metadata out of an HTML blob."""

import json

from runtime import blobs, log

from content import Content, flat_text
from html_page import HtmlPage, collapsed
from markdown_text import MarkdownText

# What is returned has to stay below the 4 KB that a caller sees inline. Each part has its share,
# and the text gets what the others leave.
INLINE_BYTES = 3_300
HEADINGS_BYTES = 500
LINKS_BYTES = 600
TABLES_BYTES = 700
TEXT_BYTES_LEAST = 400

NOT_FOLLOWED = ("javascript:", "data:", "vbscript:", "about:", "blob:")


def main(args):
    """Returns what `args["html_blob"]` says; see SKILL.md."""
    data = blobs.read_bytes(args["html_blob"])
    page = HtmlPage(data, args.get("encoding"), args.get("base_url"))
    document = MarkdownText(Content(page.root, args.get("main_only", True)))
    text = document.text()
    log.info(f"{len(text)} characters of text, {len(document.tables)} tables")
    output = {
        "summary": "",
        "title": shortened(page.title(), 200),
        "language": page.language(),
        "meta": page.meta(),
        "headings": fitting(
            [{"level": level, "text": shortened(name, 80)} for level, name in document.headings],
            HEADINGS_BYTES,
        ),
        "encoding": page.encoding,
        "warnings": page.warnings,
    }
    if args.get("links", True):
        add_links(output, find_links(page, document.links))
    if args.get("tables", True):
        add_tables(output, document.tables)
    add_text(output, text)
    output["summary"] = summarise(output, text)
    return output


def find_links(page, elements):
    """Returns the links of a page as text and address, each address once."""
    found = {}
    for element in elements:
        link = (element.get("href") or "").strip()
        if not link or link.startswith("#") or link.lower().startswith(NOT_FOLLOWED):
            continue
        address = page.absolute(link)
        if not found.get(address):
            found[address] = flat_text(element) or collapsed(element.get("title") or "")
    return [{"text": text, "url": address} for address, text in found.items()]


def add_links(output, links):
    """Adds the links: inline if they fit, else the first ones, with all of them in a blob."""
    output["link_count"] = len(links)
    output["links"] = fitting(links, LINKS_BYTES)
    complete = len(output["links"]) == len(links)
    output["links_blob"] = None if complete else blobs.write_json(links)


def add_tables(output, tables):
    """Adds the tables: inline if they fit, else what they are about, with all in a blob."""
    output["table_count"] = len(tables)
    full = [table.full() for table in tables]
    if size_of(full) <= TABLES_BYTES:
        output["tables"], output["tables_blob"] = full, None
    else:
        output["tables"] = fitting([table.brief() for table in tables], TABLES_BYTES)
        output["tables_blob"] = blobs.write_json(full)


def add_text(output, text):
    """Adds the text: inline if it fits, else its beginning, with all of it in a blob."""
    room = max(INLINE_BYTES - size_of(output), TEXT_BYTES_LEAST)
    if size_of(text) <= room:
        output["text"], output["text_blob"] = text, None
        return
    output["text_blob"] = blobs.write_text(text, kind="text/markdown")
    start = text
    while size_of(start) > room:
        start = start[: len(start) * room // (size_of(start) + 1)]
    output["text"] = start.rstrip() + "…"


def summarise(output, text):
    """Returns the one sentence that a caller reads first."""
    name = f"“{output['title']}”: " if output["title"] else ""
    counts = [(len(text), "character"), (output.get("link_count"), "link")]
    counts.append((output.get("table_count"), "table"))
    parts = [f"{n:,} {noun}" + ("" if n == 1 else "s") for n, noun in counts if n is not None]
    where = f"; the whole text is in {output['text_blob']}" if output["text_blob"] else ""
    return f"{name}{', '.join(parts)}{where}."


def fitting(values, room):
    """Returns as many of `values`, from the first, as take at most `room` bytes of JSON."""
    kept = []
    for value in values:
        room -= size_of(value) + 2
        if room < 0:
            break
        kept.append(value)
    return kept


def shortened(text, most):
    """Returns `text`, cut to `most` letters."""
    return text if text is None or len(text) <= most else text[: most - 1] + "…"


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
