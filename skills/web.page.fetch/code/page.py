"""Fetches one address, with a bound for what is read."""

import html
import http.client
import re
import urllib.error
import urllib.parse
import urllib.request
import zlib

AGENT = "web.page.fetch/0.1 (a skill)"
BLOCK_BYTES = 64 << 10
TITLE_BYTES = 64 << 10
TITLE = re.compile(r"<title[^>]{0,200}>(.{0,1000}?)</title", re.IGNORECASE | re.DOTALL)
MIME_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")
COMPRESSED = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class FetchError(ValueError):
    """The page cannot be fetched; the message says why."""


class Page:
    """An answer: `url`, `status`, `headers`, `data`, and whether it `is_truncated`."""

    def __init__(self, url, max_bytes, timeout):
        check_address(url)
        headers = {"User-Agent": AGENT, "Accept": "*/*", "Accept-Encoding": "gzip"}
        try:
            request = urllib.request.Request(url, headers=headers)
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                self.url = answer.geturl()
                self.status = answer.status
                self.headers = answer.headers
                self.data, self.is_truncated = read(answer, max_bytes)
        except urllib.error.HTTPError as error:
            raise FetchError(explain_status(error)) from None
        except urllib.error.URLError as error:
            raise FetchError(f"`{host_of(url)}` cannot be reached: {error.reason}") from None
        except TimeoutError:
            raise FetchError(f"`{host_of(url)}` did not answer in {timeout:g} seconds") from None
        except (OSError, http.client.HTTPException, zlib.error) as error:
            raise FetchError(f"the answer of `{host_of(url)}` is broken: {error!r:.200}") from None

    @property
    def mime_type(self):
        """Returns the type of the content, without parameters."""
        found = (self.headers.get("Content-Type") or "").partition(";")[0].strip().lower()
        return found if MIME_TYPE.fullmatch(found) else "application/octet-stream"

    @property
    def encoding(self):
        """Returns the character encoding that the server names, or None."""
        return self.headers.get_content_charset()

    def title(self):
        """Returns the title of an HTML page, or None."""
        if self.mime_type not in ("text/html", "application/xhtml+xml"):
            return None
        try:
            text = self.data[:TITLE_BYTES].decode(self.encoding or "utf-8", "replace")
        except LookupError:
            text = self.data[:TITLE_BYTES].decode("utf-8", "replace")
        found = TITLE.search(text)
        return " ".join(html.unescape(found[1]).split())[:300] or None if found else None


def check_address(url):
    """Raises `FetchError` for addresses that are no web pages, or carry a password."""
    try:
        parts = urllib.parse.urlsplit(url)
        port_is_good = parts.port is None or parts.port > 0
    except ValueError as error:
        raise FetchError(f"`url` is not an address: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_good:
        raise FetchError("`url` must begin with https:// or http:// and name a host")
    if parts.username is not None or parts.password is not None:
        raise FetchError("`url` must not contain a user name or a password")
    if any(character <= " " or character == "\x7f" for character in url):
        raise FetchError("`url` must not contain spaces or control characters: write %20")


def read(answer, max_bytes):
    """Returns the content, unpacked, and whether there is more than `max_bytes`."""
    packing = (answer.headers.get("Content-Encoding") or "").strip().lower()
    if packing in ("", "identity"):
        data = answer.read(max_bytes + 1)
        declared = answer.headers.get("Content-Length") or ""
        if declared.isascii() and declared.isdigit() and len(data) < min(int(declared), max_bytes):
            raise FetchError("the content ends in the middle")
        return data[:max_bytes], len(data) > max_bytes
    if packing not in COMPRESSED:
        raise FetchError(f"the content is packed as `{packing[:40]}`, which is not read")
    unpacker, parts, size = zlib.decompressobj(COMPRESSED[packing]), [], 0
    while size <= max_bytes and not unpacker.eof:
        block = unpacker.unconsumed_tail or answer.read(BLOCK_BYTES)
        if not block:
            raise FetchError("the content ends in the middle")
        # Bounded: a small answer may unpack to gigabytes.
        parts.append(unpacker.decompress(block, max_bytes + 1 - size))
        size += len(parts[-1])
    data = b"".join(parts)
    return data[:max_bytes], len(data) > max_bytes


def explain_status(error):
    """Returns what a status of 400 or above means."""
    if 300 <= error.code < 400:
        return f"`{host_of(error.url or '')}` sends from one address to the next without an end"
    hints = {
        401: "; it wants a login",
        403: "; it refuses programs or this page",
        404: "; check the address",
        429: "; too many requests: wait",
    }
    where = host_of(error.url or "")
    later = error.headers.get("Retry-After") if error.headers else None
    wait = f" for {later[:40]} seconds" if later and later.isdigit() else ""
    reason = " ".join(str(error.reason).split())[:100]
    return f"`{where}` answered {error.code} {reason}{hints.get(error.code, '')}{wait}"


def host_of(url):
    """Returns the host of an address for a message."""
    try:
        return (urllib.parse.urlsplit(url).hostname or "")[:200]
    except ValueError:
        return url[:100]
