"""Writes a Word document as Markdown."""

import re

from markdown import MAX_SPAN, one_line
from package import attribute, child, local, number, relation_id
from word_styles import Numberings, Styles, is_hidden

# Deleted and moved text, and the older copy of a drawing, which repeats the newer one.
LEFT_OUT = frozenset(["del", "moveFrom", "Fallback", "instrText", "delText", "rPr", "pPr", "tblPr"])
CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
FIELD_LINK = re.compile(r'\s*HYPERLINK\s+(?:\\[a-z]\s+)*"([^"]+)"', re.IGNORECASE)


class WordText:
    """Reads a document into `markdown`."""

    def __init__(self, package, markdown, *, with_notes):
        self._package = package
        self._markdown = markdown
        self._with_notes = with_notes
        self._relations = package.relations(package.main)
        self._styles = Styles(self._related("styles"))
        self._numberings = Numberings(self._related("numbering"))
        self._notes = {}
        self._boxes = []
        self._fields = []
        self.note_count = 0
        body = child(package.root, "body")
        self._blocks(() if body is None else body)
        if with_notes:
            self._write_notes()

    def _related(self, kind):
        return self._package.optional_tree(self._package.related(self._package.main, kind))

    def _blocks(self, elements):
        for element in elements:
            name = local(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._markdown.table(self._table(element))
            elif name not in LEFT_OUT:
                # Content controls, custom XML, insertions: what they hold is read.
                self._blocks(element)

    def _paragraph(self, element):
        properties = child(element, "pPr")
        text = self._inline(element)
        level = self._styles.heading_level(properties)
        list_id, level_of_list, depth = self._styles.numbering(properties)
        if level:
            self._markdown.heading(level, text)
        elif list_id is not None and text.strip():
            marker = self._numberings.marker(list_id, level_of_list)
            if marker is None:
                self._markdown.paragraph(text)
            else:
                self._markdown.item(marker, depth, text)
        else:
            self._markdown.paragraph(text)
        boxes, self._boxes = self._boxes, []
        for box in boxes:
            self._blocks(box)

    def _inline(self, element):
        """Returns the text of a paragraph. Text boxes in it are put aside."""
        pieces, fields = [], self._fields
        self._fields = []
        self._collect(element, pieces)
        while self._fields:
            # A field that ends in a later paragraph, such as a table of contents.
            self._end_field(pieces)
        self._fields = fields
        return "".join(pieces)

    def _collect(self, element, pieces):
        for inner in element:
            name = local(inner)
            if name in LEFT_OUT:
                if name == "instrText" and self._fields:
                    self._fields[-1][1] += inner.text or ""
            elif name == "t":
                pieces.append(inner.text or "")
            elif name in CHARACTERS:
                is_page = name == "br" and attribute(inner, "type") in ("page", "column")
                pieces.append("" if is_page else CHARACTERS[name])
            elif name == "r":
                if not is_hidden(child(inner, "rPr")):
                    self._collect(inner, pieces)
            elif name == "hyperlink":
                self._link(inner, pieces)
            elif name == "fldSimple":
                found = FIELD_LINK.match(attribute(inner, "instr") or "")
                self._linked(inner, found and found[1], pieces)
            elif name == "fldChar":
                self._field(attribute(inner, "fldCharType"), pieces)
            elif name in ("footnoteReference", "endnoteReference"):
                self._note(name[:-9], attribute(inner, "id"), pieces)
            elif name == "txbxContent":
                self._boxes.append(inner)
            elif name == "docPr":
                description = one_line(attribute(inner, "descr") or "")
                pieces.append(f"![{description[:300]}]()" if description else "")
            elif name == "sym":
                pieces.append(symbol(attribute(inner, "char")))
            else:
                self._collect(inner, pieces)

    def _link(self, element, pieces):
        _, target, outside = self._relations.get(relation_id(element), ("", "", False))
        anchor = attribute(element, "anchor")
        address = target if outside else ""
        if address and anchor:
            address = f"{address}#{anchor}"
        self._linked(element, address, pieces)

    def _linked(self, element, address, pieces):
        inside = []
        self._collect(element, inside)
        text = "".join(inside)
        pieces.append(self._markdown.link(text, address) if address else text)

    def _field(self, kind, pieces):
        if kind == "begin":
            self._fields.append([len(pieces), "", False])
        elif kind == "separate" and self._fields:
            self._fields[-1][0] = len(pieces)
            self._fields[-1][2] = True
        elif kind == "end" and self._fields:
            self._end_field(pieces)

    def _end_field(self, pieces):
        start, instruction, has_result = self._fields.pop()
        found = FIELD_LINK.match(instruction)
        if found and has_result and start <= len(pieces):
            text = "".join(pieces[start:])
            pieces[start:] = [self._markdown.link(text, found[1])]

    def _note(self, kind, note_id, pieces):
        if self._with_notes:
            name = self._notes.setdefault((kind, note_id), len(self._notes) + 1)
            pieces.append(f"[^{name}]")

    def _table(self, element):
        """Returns the rows of texts. Cells that span several columns or rows are repeated."""
        rows = []
        for row in rows_of(element):
            before = rows[-1] if rows else []
            texts = [""] * min(number(attribute(child(row, "trPr", "gridBefore"), "val")), MAX_SPAN)
            for cell in cells_of(row):
                properties = child(cell, "tcPr")
                span = number(attribute(child(properties, "gridSpan"), "val"), 1)
                merge = child(properties, "vMerge")
                if merge is not None and attribute(merge, "val") != "restart":
                    text = before[len(texts)] if len(texts) < len(before) else ""
                else:
                    text = self._cell(cell)
                texts += [text] * min(max(span, 1), MAX_SPAN)
            rows.append(texts)
        return rows

    def _cell(self, element):
        """Returns the text of a cell, with tables in it as lines."""
        lines = []
        for inner in element:
            name = local(inner)
            if name == "p":
                lines.append(self._inline(inner))
            elif name == "tbl":
                lines += [" ; ".join(map(one_line, row)) for row in self._table(inner)]
            elif name not in LEFT_OUT:
                lines.append(self._cell(inner))
        boxes, self._boxes = self._boxes, []
        lines += [self._cell(box) for box in boxes]
        return "\n".join(line for line in lines if line.strip())

    def _write_notes(self):
        found = {}
        for kind in ("footnote", "endnote"):
            path = self._package.related(self._package.main, f"{kind}s")
            root = self._package.optional_tree(path)
            if root is None:
                continue
            # Links of a note are related to the part of the notes.
            relations, self._relations = self._relations, self._package.relations(path)
            for note in root:
                key = (kind, attribute(note, "id"))
                if key in self._notes:
                    found[key] = one_line(self._cell(note))
            self._relations = relations
        for key, name in list(self._notes.items()):
            self._markdown.paragraph(f"[^{name}]: {found.get(key, '')}")
        self.note_count = len(self._notes)


def rows_of(element):
    """Yields the rows of a table, also those in content controls; deleted ones are left out."""
    for inner in element:
        if local(inner) == "tr":
            if child(inner, "trPr", "del") is None:
                yield inner
        elif local(inner) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from rows_of(inner)


def cells_of(element):
    """Yields the cells of a row."""
    for inner in element:
        if local(inner) == "tc":
            yield inner
        elif local(inner) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from cells_of(inner)


def symbol(code):
    """Returns the character of a symbol font, if it is one that has a meaning elsewhere."""
    try:
        value = int(code or "", 16)
    except ValueError:
        return ""
    known = {0xF0B7: "•", 0xF0A7: "▪", 0xF0FC: "✓", 0xF0E0: "→", 0xF0FE: "☒", 0xF0A8: "☐"}
    is_private = 0xE000 <= value <= 0xF8FF or not 32 <= value < 0x110000
    return known.get(value, "" if is_private or 0xD800 <= value < 0xE000 else chr(value))
