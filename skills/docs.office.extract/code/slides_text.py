"""Writes the slides of a PowerPoint presentation as Markdown."""

from markdown import MAX_SPAN, one_line
from package import attribute, child, local, number, relation_id

TITLES = frozenset(["title", "ctrTitle"])
FURNITURE = frozenset(["sldNum", "dt", "ftr", "hdr", "sldImg"])
BULLETS = frozenset(["buChar", "buAutoNum", "buBlip"])


class SlidesText:
    """Reads the chosen slides of a presentation into `markdown`."""

    def __init__(self, package, markdown, *, with_notes):
        self._package = package
        self._markdown = markdown
        self._with_notes = with_notes
        self.hidden = []
        self.note_count = 0
        relations = package.relations(package.main)
        listed = child(package.root, "sldIdLst")
        self.slides = [
            relations[relation_id(element)][1]
            for element in (() if listed is None else listed)
            if relation_id(element) in relations
        ]

    def read(self, numbers):
        """Reads the slides with these numbers, and returns `number`, `title` of each."""
        return [self._slide(position, self.slides[position - 1]) for position in numbers]

    def _slide(self, position, path):
        root = self._package.tree(path)
        self._relations = self._package.relations(path)
        tree = child(root, "cSld", "spTree")
        shapes = list(shapes_of(() if tree is None else tree))
        titles = [shape for shape in shapes if placeholder(shape) in TITLES]
        title = one_line(" ".join(self._plain(shape) for shape in titles[:1]))
        is_hidden = attribute(root, "show") in ("0", "false")
        if is_hidden:
            self.hidden.append(position)
        self._markdown.heading(
            2, f"Slide {position}{' (hidden)' if is_hidden else ''}{': ' if title else ''}{title}"
        )
        for shape in shapes:
            if shape not in titles[:1] and placeholder(shape) not in FURNITURE:
                self._shape(shape)
        if self._with_notes:
            self._notes(path)
        return {"slide": position, "title": title}

    def _shape(self, shape):
        kind = local(shape)
        if kind == "sp":
            body = child(shape, "txBody")
            # The outline of a slide is bulleted unless it says otherwise; other boxes are not.
            is_outline = placeholder(shape) in ("body", "obj", "")
            self._body(() if body is None else body, is_outline)
            return
        if kind == "graphicFrame":
            data = child(shape, "graphic", "graphicData")
            table = child(data, "tbl")
            if table is not None:
                self._markdown.table(self._table(table))
            elif child(data, "relIds") is not None:
                self._diagram(child(data, "relIds"))
            elif child(data, "chart") is not None:
                self._chart(child(data, "chart"))
        description = next(
            (attribute(e, "descr") for e in shape.iter() if local(e) == "cNvPr"), None
        )
        if kind == "pic" and one_line(description or ""):
            self._markdown.paragraph(f"![{one_line(description)[:300]}]()")

    def _body(self, body, is_outline):
        counts = {}
        for paragraph in body:
            if local(paragraph) != "p":
                continue
            text = self._line(paragraph)
            if not text.strip():
                continue
            properties = child(paragraph, "pPr")
            level = min(max(number(attribute(properties, "lvl")), 0), 8)
            marks = {local(e) for e in (() if properties is None else properties)}
            for deeper in [other for other in counts if other > level]:
                del counts[deeper]
            if "buNone" in marks or not (is_outline or marks & BULLETS):
                counts.clear()
                self._markdown.paragraph(text)
            elif "buAutoNum" in marks:
                start = number(attribute(child(properties, "buAutoNum"), "startAt"), 1)
                counts[level] = counts.get(level, start - 1) + 1
                self._markdown.item(f"{counts[level]}.", level, text)
            else:
                self._markdown.item("-", level, text)

    def _line(self, paragraph):
        """Returns the text of a paragraph, with its links."""
        pieces = []
        for inner in paragraph:
            name = local(inner)
            if name == "br":
                pieces.append("\n")
            elif name in ("r", "fld"):
                text = "".join(e.text or "" for e in inner if local(e) == "t")
                click = child(inner, "rPr", "hlinkClick")
                _, target, outside = ("", "", False)
                if click is not None:
                    _, target, outside = self._relations.get(relation_id(click), ("", "", False))
                pieces.append(self._markdown.link(text, target) if outside else text)
            elif name not in ("pPr", "endParaRPr"):
                pieces += [e.text or "" for e in inner.iter() if local(e) == "t"]
        return "".join(pieces).replace("\v", "\n")

    def _plain(self, shape):
        body = child(shape, "txBody")
        lines = () if body is None else (e for e in body if local(e) == "p")
        return "\n".join(self._line(paragraph) for paragraph in lines)

    def _table(self, table):
        """Returns the rows of texts. Cells that span several columns or rows are repeated."""
        rows = []
        for row in (e for e in table if local(e) == "tr"):
            before = rows[-1] if rows else []
            texts = []
            for cell in (e for e in row if local(e) == "tc"):
                if attribute(cell, "hMerge") in ("1", "true"):
                    texts.append(texts[-1] if texts else "")
                elif attribute(cell, "vMerge") in ("1", "true"):
                    texts.append(before[len(texts)] if len(texts) < len(before) else "")
                else:
                    texts.append(self._plain(cell))
            rows.append(texts[:MAX_SPAN])
        return rows

    def _diagram(self, ids):
        """Lists the texts of a SmartArt diagram."""
        data_id = attribute(ids, "dm")
        kind, path, outside = self._relations.get(data_id, ("", "", True))
        root = None if outside else self._package.optional_tree(path)
        for element in () if root is None else root.iter():
            if local(element) == "p":
                text = "".join(e.text or "" for e in element.iter() if local(e) == "t")
                self._markdown.item("-", 0, text)

    def _chart(self, chart):
        """Writes the title of a chart and the values that it was last drawn with."""
        _, path, outside = self._relations.get(relation_id(chart), ("", "", True))
        root = None if outside else self._package.optional_tree(path)
        if root is None:
            return
        title = child(root, "chart", "title")
        words = () if title is None else (e.text or "" for e in title.iter() if local(e) == "t")
        self._markdown.paragraph(f"Chart: {one_line(''.join(words))}".rstrip(": "))
        series = [element for element in root.iter() if local(element) == "ser"][:50]
        if not series:
            return
        labels = points(child(series[0], "cat")) or points(child(series[0], "xVal"))
        columns = [points(child(s, "val")) or points(child(s, "yVal")) for s in series]
        names = [" ".join(points(child(s, "tx")).values()) for s in series]
        rows = [["", *names]]
        for index in sorted({key for column in (labels, *columns) for key in column})[:1_000]:
            rows.append([labels.get(index, ""), *(column.get(index, "") for column in columns)])
        self._markdown.table(rows)

    def _notes(self, path):
        notes_path = self._package.related(path, "notesSlide")
        root = self._package.optional_tree(notes_path)
        tree = child(root, "cSld", "spTree")
        if tree is None:
            return
        self._relations = self._package.relations(notes_path)
        texts = [
            self._plain(shape) for shape in shapes_of(tree) if placeholder(shape) not in FURNITURE
        ]
        text = "\n".join(text for text in texts if text.strip())
        if text:
            self.note_count += 1
            self._markdown.quotation("Speaker notes", text)


def shapes_of(tree):
    """Yields the shapes in their order, those of groups as well."""
    for element in tree:
        name = local(element)
        if name in ("grpSp", "AlternateContent", "Choice"):
            yield from shapes_of(element)
        elif name in ("sp", "graphicFrame", "pic"):
            yield element


def placeholder(shape):
    """Returns the type of the placeholder that a shape fills, `""` for the outline, or None."""
    for element in shape:
        if local(element).startswith("nv"):
            found = child(element, "nvPr", "ph")
            return None if found is None else attribute(found, "type") or ""
    return None


def points(element):
    """Returns the values that a chart keeps: index -> text."""
    if element is None:
        return {}
    return {
        number(attribute(point, "idx")): one_line(child(point, "v").text or "")
        for point in element.iter()
        if local(point) == "pt" and child(point, "v") is not None
    }
