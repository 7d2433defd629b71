"""What styles and numberings of a Word document mean: headings and lists."""

import re

from package import attribute, child, is_on, local, number

HEADING = re.compile(r"heading ([1-9])")
LIST_STYLE = re.compile(r"list (?:bullet|number) ([2-5])")
BULLET = "-"
MAX_LEVEL = 8
MAX_BASES = 20


class Styles:
    """The styles of paragraphs: which are headings, and of which level; which are lists."""

    def __init__(self, root):
        self._styles = {}
        for style in () if root is None else root:
            if local(style) == "style" and attribute(style, "styleId"):
                self._styles[attribute(style, "styleId")] = style

    def heading_level(self, properties):
        """Returns 1 to 6 for the properties of a heading's paragraph, else 0."""
        level = outline_level(properties)
        if level is not None:
            return level
        for style in self._chain(properties):
            name = (attribute(child(style, "name"), "val") or "").lower()
            if found := HEADING.fullmatch(name):
                return int(found[1])
            if name == "title":
                return 1
            level = outline_level(child(style, "pPr"))
            if level is not None:
                return level
        return 0

    def numbering(self, properties):
        """Returns id, level and depth of the list that a paragraph is in; the id is None for none.

        The level is that of the numbering, the depth the one that is seen.
        """
        sources = [properties, *(child(style, "pPr") for style in self._chain(properties))]
        list_id = level = None
        for source in sources:
            found = child(source, "numPr")
            if found is not None:
                list_id = list_id or attribute(child(found, "numId"), "val")
                level = attribute(child(found, "ilvl"), "val") if level is None else level
        if list_id in (None, "0"):
            return None, 0, 0
        level = min(max(number(level), 0), MAX_LEVEL)
        if level == 0:
            # The styles `List Bullet 2` to `5` are levels by their names and indents alone.
            for style in self._chain(properties):
                name = (attribute(child(style, "name"), "val") or "").lower()
                if found := LIST_STYLE.fullmatch(name):
                    return list_id, level, int(found[1]) - 1
        return list_id, level, level

    def _chain(self, properties):
        style_id = attribute(child(properties, "pStyle"), "val")
        for _ in range(MAX_BASES):
            style = self._styles.get(style_id)
            if style is None:
                return
            yield style
            style_id = attribute(child(style, "basedOn"), "val")


def outline_level(properties):
    """Returns the level of a heading that properties give, 0 for plain text, None for nothing."""
    found = attribute(child(properties, "outlineLvl"), "val")
    if found is None:
        return None
    level = number(found, 9)
    return level + 1 if 0 <= level <= 8 else 0


class Numberings:
    """Counts the items of the lists of a document."""

    def __init__(self, root):
        self._levels, self._lists, self._counts = {}, {}, {}
        for element in () if root is None else root:
            if local(element) == "abstractNum":
                self._levels[attribute(element, "abstractNumId")] = read_levels(element)
        for element in () if root is None else root:
            if local(element) == "num":
                self._read_list(element)

    def _read_list(self, element):
        abstract_id = attribute(child(element, "abstractNumId"), "val")
        levels = dict(self._levels.get(abstract_id, {}))
        restarts = False
        for override in element:
            if local(override) != "lvlOverride":
                continue
            levels.update(read_levels(override))
            start = attribute(child(override, "startOverride"), "val")
            if start is not None:
                level = number(attribute(override, "ilvl"))
                levels[level] = (levels.get(level, ("decimal", 1))[0], number(start, 1))
                restarts = True
        list_id = attribute(element, "numId")
        # Lists of one definition go on counting, unless one starts anew.
        self._lists[list_id] = (levels, list_id if restarts else f"abstract {abstract_id}")

    def marker(self, list_id, level):
        """Returns `-`, or the number of the next item such as `3.`; None if it has neither."""
        levels, group = self._lists.get(list_id, ({}, list_id))
        kind, start = levels.get(level, ("bullet", 1))
        counts = self._counts.setdefault(group, {})
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if kind == "none":
            return None
        if kind == "bullet":
            return BULLET
        counts[level] = counts.get(level, start - 1) + 1
        return f"{counts[level]}."


def read_levels(element):
    """Returns the levels that an element defines: number of the level -> (format, start)."""
    found = {}
    for level in element:
        if local(level) == "lvl":
            kind = attribute(child(level, "numFmt"), "val") or "decimal"
            start = number(attribute(child(level, "start"), "val"), 1)
            found[number(attribute(level, "ilvl"))] = (kind, start)
    return found


def is_hidden(properties):
    """Returns whether a run is not shown."""
    return is_on(child(properties, "vanish"))
