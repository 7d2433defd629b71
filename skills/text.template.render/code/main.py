"""Fills a template with data."""

import json

from runtime import blobs, log

from rendering import TemplateError, render
from template_data import collect

# What is returned has to stay below the 4 KB that a caller sees inline.
TEXT_BYTES = 3_000
BEGINNING_LETTERS = 800


def main(args):
    """Returns the text that `args` describe; see SKILL.md."""
    source = read_template(args)
    names = collect(args)
    log.info(f"names: {', '.join(list(names)[:30]) or 'none'}")
    try:
        text = render(args, source, names)
    except MemoryError:
        raise MemoryError(
            "the template needs more memory than a run may have: pass less data at once"
        ) from None
    is_short = size_of(text) <= TEXT_BYTES
    chosen = args.get("output") or "auto"
    if chosen == "text" and not is_short:
        raise TemplateError(
            f"the result has {len(text):,} characters and does not fit: pass `output`: `blob`"
        )
    is_blob = chosen == "blob" or not is_short
    text_blob = (
        blobs.write_text(text, kind=args.get("mime_type") or "text/plain") if is_blob else None
    )
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    where = f" in {text_blob}" if text_blob else ""
    return {
        "summary": f"{counted(len(text), 'character')}, {counted(lines, 'line')}{where}.",
        "text": text if is_short else text[:BEGINNING_LETTERS].rstrip() + "…",
        "text_blob": text_blob,
        "characters": len(text),
        "lines": lines,
    }


def read_template(args):
    """Returns the text of the template."""
    source, blob_id = args.get("template"), args.get("template_blob")
    if (source is None) == (blob_id is None):
        raise ValueError("pass the template as `template` or as `template_blob`, one of them")
    if blob_id is None:
        return source
    try:
        return blobs.read_text(blob_id, encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"`template_blob` is no UTF-8 text: byte {error.start}") from None


def counted(number, noun):
    """Returns `3 lines`, `1 line`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def size_of(value):
    """Returns the bytes of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False).encode())
