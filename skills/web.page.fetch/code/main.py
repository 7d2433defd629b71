"""Fetches a page or file into a blob."""

from runtime import blobs, log

from page import Page


def main(args):
    """Returns what is at `args["url"]`; see SKILL.md."""
    page = Page(args["url"], args.get("max_bytes", 5_000_000), args.get("timeout_s", 15))
    log.info(f"{page.status}, {len(page.data)} bytes")
    body_blob = blobs.write_bytes(page.data, kind=page.mime_type)
    title = page.title()
    name = f"“{title[:100]}”: " if title else ""
    cut = ", cut off" if page.is_truncated else ""
    return {
        "summary": f"{name}{len(page.data):,} bytes of {page.mime_type}{cut}, in {body_blob}.",
        "body_blob": body_blob,
        "status": page.status,
        "url": page.url[:1000],
        "mime_type": page.mime_type,
        "encoding": page.encoding,
        "size_bytes": len(page.data),
        "truncated": page.is_truncated,
        "title": title,
        "last_modified": shortened(page.headers.get("Last-Modified")),
        "etag": shortened(page.headers.get("ETag")),
    }


def shortened(text):
    """Returns a header, cut to 200 letters."""
    return text and text[:200]
