"""Collects blocks of Markdown: headings, paragraphs, list items and tables."""

import re

MAX_SPAN = 1_000
MAX_INDENT = 8


class Markdown:
    """The text so far, and what is in it: `headings`, `tables`, `links` as counts or lists."""

    def __init__(self):
        self.headings = []
        self.tables = 0
        self.links = 0
        self._parts = []
        self._was_item = False

    def heading(self, level, text):
        """Adds a heading, if it has a text."""
        text = one_line(text)
        if text:
            level = min(max(level, 1), 6)
            self.headings.append((level, text))
            self._add(f"{'#' * level} {text}")

    def paragraph(self, text):
        """Adds a paragraph, if it has a text; its lines are kept."""
        lines = [" ".join(line.split(" ")).rstrip() for line in text.strip().split("\n")]
        if any(lines):
            self._add("\n".join(lines))

    def item(self, marker, level, text):
        """Adds an item of a list, `level` deep."""
        lines = [line.strip() for line in text.strip().split("\n")]
        if any(lines):
            indent = "  " * min(max(level, 0), MAX_INDENT)
            gap = f"\n{indent}{' ' * (len(marker) + 1)}"
            self._add(f"{indent}{marker} {gap.join(lines)}", is_item=True)

    def quotation(self, label, text):
        """Adds a quotation below its label."""
        lines = [line.strip() for line in text.strip().split("\n")]
        if any(lines):
            self._add("\n".join(f"> {line}".rstrip() for line in [f"{label}:", "", *lines]))

    def table(self, rows):
        """Adds a table; its first row is the header, rows of unequal length are filled up."""
        rows = [row for row in rows if row]
        if not rows:
            return
        width = max(map(len, rows))
        lines = ["| " + " | ".join(cells(row, width)) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * width)
        self.tables += 1
        self._add("\n".join(lines))

    def link(self, text, address):
        """Returns a link for a line of text."""
        address = address.strip()
        if not address or not text.strip():
            return text
        self.links += 1
        before = text[: len(text) - len(text.lstrip())]
        after = text[len(text.rstrip()) :]
        if text.strip() == address:
            return f"{before}<{address}>{after}"
        quoted = address.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
        shown = text.strip().replace("[", "\\[").replace("]", "\\]").replace("\n", " ")
        return f"{before}[{shown}]({quoted}){after}"

    def text(self):
        """Returns all of it."""
        return "".join(self._parts) + ("\n" if self._parts else "")

    def _add(self, block, *, is_item=False):
        if self._parts:
            self._parts.append("\n" if is_item and self._was_item else "\n\n")
        self._parts.append(block)
        self._was_item = is_item


def cells(row, width):
    """Returns the cells of a row as Markdown has them."""
    texts = [re.sub(r"\s*\n\s*", "<br>", cell.strip()).replace("|", "\\|") for cell in row]
    return texts + [""] * (width - len(texts))


def one_line(text):
    """Returns a text without line breaks and repeated spaces."""
    return " ".join(text.split())
