"""Turns the bytes of an HTML page into a tree, and answers questions about the page as a whole."""

import codecs
import re
from urllib.parse import urljoin

import lxml.etree
import lxml.html

# Browsers look for the encoding in the first 1024 bytes; pages with long comments on top exist.
HEAD_BYTES = 4_096

DECLARED = re.compile(rb"""<meta[^>]{0,500}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.I)
DECLARED_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{1,40})""")
FALLBACK_ENCODING = "cp1252"
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Names that pages use for what browsers read as a larger encoding.
READ_AS = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}

SIGNATURES = (
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or an Office document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x1f\x8b", "a gzip archive"),
)

META = (
    "description",
    "author",
    "keywords",
    "date",
    "article:published_time",
    "article:modified_time",
    "og:site_name",
    "og:title",
    "og:description",
    "og:image",
)
META_LETTERS = 200
HEAD_ELEMENTS = frozenset(["title", "meta", "link", "base", "script", "style", "noscript"])

SPACE = re.compile(r"\s+")
NO_CONTROLS = dict.fromkeys(c for c in range(32) if chr(c) not in "\t\n\f\r")


def collapsed(text):
    """Returns `text` on one line, with single spaces."""
    return SPACE.sub(" ", text).strip()


class HtmlPage:
    """A page: its tree `root`, and what it says about itself."""

    def __init__(self, data, encoding=None, base_url=None):
        for signature, what in SIGNATURES:
            if data.startswith(signature):
                raise ValueError(f"the blob is {what}, not HTML")
        self.warnings = []
        self.encoding = find_encoding(data, encoding)
        text, replaced = decode(data, self.encoding)
        if replaced:
            self.warnings.append(
                f"{replaced} characters are not {self.encoding}; pass `encoding` if letters look "
                "wrong"
            )
        self.root, is_cut = parse(text)
        settle_head(self.root)
        if is_cut:
            self.warnings.append("the page is nested too deeply: its innermost parts were left out")
        self.base_url = self._find_base(base_url)

    def _find_base(self, given):
        declared = self.root.xpath("string(//base/@href)").strip()
        return joined(given or "", declared) if declared else given or ""

    def absolute(self, link):
        """Returns the address that `link` means on this page."""
        return joined(self.base_url, link.strip())

    def title(self):
        """Returns the title, or the first heading if there is none."""
        for path in ("//head/title", "//title", "//h1"):
            for element in self.root.xpath(path)[:1]:
                if text := collapsed(element.text_content()):
                    return text
        return None

    def language(self):
        """Returns the language the page declares, such as `en`."""
        return collapsed(self.root.get("lang") or self.root.get("xml:lang") or "") or None

    def meta(self):
        """Returns the page's descriptions of itself that are worth reading."""
        found = {}
        for element in self.root.iter("meta"):
            name = (element.get("name") or element.get("property") or "").strip().lower()
            content = collapsed(element.get("content") or "")
            if name in META and content and name not in found:
                found[name] = content[:META_LETTERS]
        for element in self.root.xpath("//link[@rel='canonical'][@href]")[:1]:
            found["canonical"] = self.absolute(element.get("href"))[:META_LETTERS]
        return found


def settle_head(root):
    """Moves content out of the head: the parser puts elements of HTML 5 there if no body begins."""
    head = root.find("head")
    if head is None:
        return
    inside = [not isinstance(e.tag, str) or e.tag in HEAD_ELEMENTS for e in head]
    if all(inside):
        return
    body = root.find("body")
    if body is None:
        body = lxml.etree.SubElement(root, "body")
    moved = list(head)[inside.index(False) :]
    moved[-1].tail = (moved[-1].tail or "") + (body.text or "")
    body.text = None
    body[:0] = moved


def find_encoding(data, chosen):
    """Returns Python's name of the encoding: chosen, marked, declared, UTF-8, or the fallback."""
    if chosen not in (None, "", "auto"):
        name = resolve(chosen)
        if name is None:
            raise ValueError(f"unknown `encoding` `{chosen}`: use `auto` or a name such as `utf-8`")
        return name
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:HEAD_BYTES]
    declared = DECLARED.search(head) or DECLARED_XML.search(head)
    if declared is not None:
        name = resolve(declared[1].decode("ascii"))
        # A page that can be searched for ASCII is no UTF-16, whatever it says.
        if name is not None and not name.startswith(("utf-16", "utf-32")):
            return READ_AS.get(name, name)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return FALLBACK_ENCODING
    return "utf-8"


def resolve(name):
    """Returns Python's name of a text encoding, or None if it knows no such."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    return found.name if getattr(found, "_is_text_encoding", True) else None


def decode(data, encoding):
    """Returns the text, and how many characters had to be replaced."""
    try:
        return data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        return text, text.count("\ufffd")


def parse(text):
    """Returns the tree of a page, an empty one for an empty page, and whether parts are missing."""
    parser = lxml.html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True
    )
    content = text.translate(NO_CONTROLS).encode("utf-8", "replace")
    try:
        root = lxml.html.document_fromstring(content, parser=parser)
    except lxml.etree.ParserError:
        return lxml.html.document_fromstring("<html><body></body></html>"), False
    return root, any("depth" in entry.message.lower() for entry in parser.error_log)


def joined(base, link):
    """Returns `link` as it is meant on a page at `base`; unchanged if it is no address."""
    try:
        return urljoin(base, link)
    except ValueError:
        return link
