"""Writes the content of a page as text that reads well: Markdown without links."""

from content import BLOCKS
from html_page import collapsed
from html_tables import read_table

HEADINGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
LISTS = frozenset(["ul", "ol", "menu"])
DEEPEST_INDENT = 8


class MarkdownText:
    """The text of a page's content, and what is in it: `headings`, `tables`, `links` as elements.

    The tree is walked without recursion, because pages can be deep.
    """

    def __init__(self, content):
        self.headings = []
        self.tables = []
        self.links = []
        self._content = content
        self._blocks = []
        self._inline = []
        self._lists = []
        self._quotes = 0
        self._marker = None
        self._heading = 0
        self._verbatim = 0
        self._walk(content.root)
        self._flush()

    def text(self):
        """Returns all blocks: list items on consecutive lines, blank lines between the others."""
        parts, was_item = [], False
        for block, is_item in self._blocks:
            if parts:
                parts.append("\n" if is_item and was_item else "\n\n")
            parts.append(block)
            was_item = is_item
        return "".join(parts)

    def _walk(self, root):
        open_elements = [(root, iter(root))]
        self._enter(root)
        while open_elements:
            element, children = open_elements[-1]
            child = next(children, None)
            if child is None:
                open_elements.pop()
                self._leave(element)
                if open_elements:
                    self._add(element.tail)
            elif self._is_skipped(child):
                self._add(child.tail)
            else:
                open_elements.append((child, iter(child)))
                self._enter(child)

    def _is_skipped(self, element):
        if not isinstance(element.tag, str) or self._content.is_left_out(element):
            return True
        table = read_table(element) if element.tag == "table" else None
        if table is None:
            return False
        self._flush()
        if table.caption:
            self._block(table.caption)
        self._block(table.markdown())
        self.tables.append(table)
        self.links.extend(element.iter("a"))
        return True

    def _enter(self, element):
        tag = element.tag
        if tag in BLOCKS:
            self._flush()
        if tag in HEADINGS:
            self._heading = HEADINGS[tag]
        elif tag in LISTS:
            self._lists.append([tag, 0])
        elif tag == "li":
            self._marker = self._next_marker()
        elif tag == "blockquote":
            self._quotes += 1
        elif tag == "pre":
            self._verbatim += 1
        elif tag == "a":
            self.links.append(element)
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "hr":
            self._block("---")
        elif tag == "img" and collapsed(element.get("alt") or ""):
            self._inline.append(f"[image: {collapsed(element.get('alt'))}]")
        self._add(element.text)

    def _leave(self, element):
        tag = element.tag
        if tag in ("td", "th"):
            # Cells of a table that arranges the page: no words must run together.
            self._inline.append(" ")
        if tag in BLOCKS:
            self._flush()
        if tag in HEADINGS:
            self._heading = 0
        elif tag in LISTS and self._lists:
            self._lists.pop()
        elif tag == "li":
            self._marker = None
        elif tag == "blockquote":
            self._quotes -= 1
        elif tag == "pre":
            self._verbatim -= 1

    def _add(self, text):
        if text:
            self._inline.append(text if self._verbatim else text.replace("\n", " "))

    def _next_marker(self):
        if not self._lists:
            return "- "
        self._lists[-1][1] += 1
        return f"{self._lists[-1][1]}. " if self._lists[-1][0] == "ol" else "- "

    def _flush(self):
        """Makes a block of the text since the last one."""
        raw, self._inline = "".join(self._inline), []
        if self._verbatim and raw.strip():
            self._block("```\n" + raw.strip("\n").expandtabs(4) + "\n```")
            return
        lines = [line for line in map(collapsed, raw.split("\n")) if line]
        if not lines:
            return
        if self._heading:
            text = " ".join(lines)
            self.headings.append((self._heading, text))
            self._block("#" * self._heading + " " + text)
        else:
            self._block("\n".join(lines))

    def _block(self, text):
        """Adds a block below its quotation marks and in the indent of its list."""
        depth = min(max(len(self._lists) - 1, 0), DEEPEST_INDENT)
        indent = "  " * depth
        first, rest = indent, indent
        if self._lists:
            first = indent + (self._marker or "  ")
            rest = indent + "  "
        quotes = "> " * min(self._quotes, DEEPEST_INDENT)
        lines = text.split("\n")
        lines = [quotes + first + lines[0], *(quotes + rest + line for line in lines[1:])]
        self._blocks.append(("\n".join(lines), bool(self._lists)))
        self._marker = None
