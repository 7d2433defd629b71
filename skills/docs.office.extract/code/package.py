"""The parts of an Office document and the relationships between them."""

import posixpath
import xml.etree.ElementTree as ElementTree
import zlib

from office_zip import DAMAGES, OfficeError, open_package

# A tree takes several times the memory of its text.
MAX_PART = 48 << 20

# Trees of all parts together.
MAX_PARTS = 192 << 20

MAX_DEPTH = 400

KINDS = {"document": "docx", "presentation": "pptx", "workbook": "xlsx"}


class Package:
    """An open document: `kind`, the path of its `main` part, and its parts as trees."""

    def __init__(self, stream):
        self._archive = open_package(stream, "an Office document")
        self._names = {name.lower(): name for name in self._archive.namelist()}
        self._read = 0
        main = [target for kind, target, _ in self._relations("") if kind == "officeDocument"]
        if not main:
            raise OfficeError("the file is damaged: it names no main part")
        self.main = main[0]
        if self.main.endswith(".bin"):
            raise OfficeError("the workbook is binary (xlsb): save it as xlsx")
        root = self.tree(self.main)
        self.kind = KINDS.get(local(root))
        if self.kind is None:
            raise OfficeError(
                f"the blob is an Office file of an unknown kind, `{local(root)[:40]}`"
            )
        self.root = root

    def has(self, path):
        """Returns whether there is such a part."""
        return path.lower() in self._names

    def open(self, path):
        """Opens a part as a stream of bytes."""
        try:
            return self._archive.open(self._names[path.lower()])
        except KeyError:
            raise OfficeError(f"the file is damaged: it has no part `{path[:100]}`") from None
        except DAMAGES as error:
            raise OfficeError(f"the file is damaged: {error}") from None

    def tree(self, path):
        """Returns the root element of a part."""
        try:
            with self.open(path) as part:
                data = part.read(MAX_PART + 1)
        except (zlib.error, *DAMAGES) as error:
            if isinstance(error, OfficeError):
                raise
            raise OfficeError(f"the file is damaged: `{path[:100]}`: {error}") from None
        self._read += len(data)
        if len(data) > MAX_PART or self._read > MAX_PARTS:
            raise OfficeError(f"`{path[:100]}` is too large: {MAX_PART >> 20} MiB can be read")
        return parse(data, path)

    def optional_tree(self, path):
        """Returns the root element of a part, or None without the part."""
        return self.tree(path) if path and self.has(path) else None

    def relations(self, path):
        """Returns the relationships of a part: id -> (kind, target, whether it is outside)."""
        return {key: found for key, *found in self._relation_rows(path)}

    def related(self, path, kind):
        """Returns the path of the part that is related to `path` as `kind`, or None."""
        targets = [t for k, t, outside in self._relations(path) if k == kind and not outside]
        return targets[0] if targets else None

    def metadata(self):
        """Returns the properties that the document has: title, author, dates and so on."""
        root = self.optional_tree(self.related("", "core-properties"))
        names = {
            "title": "title",
            "creator": "author",
            "subject": "subject",
            "keywords": "keywords",
            "lastModifiedBy": "last_modified_by",
            "created": "created",
            "modified": "modified",
        }
        found = {}
        for element in () if root is None else root:
            text = " ".join((element.text or "").split())
            if local(element) in names and text:
                found[names[local(element)]] = text[:200]
        return found

    def _relations(self, path):
        return [tuple(row[1:]) for row in self._relation_rows(path)]

    def _relation_rows(self, path):
        folder, name = posixpath.split(path)
        root = self.optional_tree(posixpath.join(folder, "_rels", f"{name}.rels"))
        rows = []
        for element in () if root is None else root:
            kind = (element.get("Type") or "").rstrip("/").rpartition("/")[2]
            target = element.get("Target") or ""
            outside = element.get("TargetMode") == "External"
            if not outside:
                target = target.partition("#")[0]
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            rows.append((element.get("Id"), kind, target, outside))
        return rows


def parse(data, path):
    """Returns the root of XML that is not nested too deeply for the readers."""
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise OfficeError(f"the file is damaged: `{path[:100]}`: {error}") from None
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [inner for element in level for inner in element]
        if not level:
            return root
    raise OfficeError(f"`{path[:100]}` is nested more than {MAX_DEPTH} levels deep")


def local(element):
    """Returns the name of an element without its namespace: both editions of the format differ."""
    tag = element.tag
    return tag[tag.rfind("}") + 1 :] if isinstance(tag, str) else ""


def attribute(element, name):
    """Returns an attribute by its name without the namespace."""
    if element is None:
        return None
    for key, value in element.attrib.items():
        if key.rpartition("}")[2] == name:
            return value
    return None


def relation_id(element):
    """Returns the id of the relationship that an element refers to.

    Elements have an `id` of their own beside the one with the namespace of relationships.
    """
    for key, value in element.attrib.items():
        space, _, name = key.rpartition("}")
        if name == "id" and space.endswith("relationships"):
            return value
    return None


def child(element, *path):
    """Returns the first descendant along the names of `path`, or None."""
    for name in path:
        if element is None:
            return None
        element = next((inner for inner in element if local(inner) == name), None)
    return element


def is_on(element):
    """Returns whether a property that may be switched off is on."""
    return element is not None and attribute(element, "val") not in ("0", "false", "off")


def number(text, default=0):
    """Returns a whole number that an attribute spells, or `default`."""
    try:
        return int(text)
    except (TypeError, ValueError):
        return default
