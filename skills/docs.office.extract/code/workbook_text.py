"""Writes the sheets of an Excel workbook as tables of Markdown."""

import datetime
import re
from xml.sax.saxutils import unescape

import openpyxl
from openpyxl.utils.cell import coordinate_from_string, column_index_from_string

from office_zip import OfficeError

# Empty cells count, because a sheet can claim a cell in the last column of every row.
MAX_CELLS = 2_000_000
MAX_COLUMNS = 500
BLOCK_BYTES = 1 << 20
TAIL_BYTES = 16 << 20

# Hyperlinks come after the cells.
CELLS_END = re.compile(rb"</(?:[\w.-]+:)?sheetData\s*>|<(?:[\w.-]+:)?sheetData\s*/>")
HYPERLINK = re.compile(r"<(?:[\w.-]+:)?hyperlink\s([^>]*)>")
ATTRIBUTE = re.compile(r"""([\w:.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
MIDNIGHT = datetime.time()


class WorkbookText:
    """Reads the chosen sheets of a workbook into `markdown`."""

    def __init__(self, package, stream, markdown, max_rows):
        self._package = package
        self._markdown = markdown
        self._max_rows = max_rows
        self._cells = 0
        self.cut, self.hidden = [], []
        try:
            self._book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        except MemoryError:
            raise
        except Exception as error:
            raise OfficeError(f"the workbook is damaged: {describe(error)}") from None
        self.names = [sheet.title for sheet in self._book.worksheets]

    def choose(self, wanted):
        """Returns the sheets of these names, all of them without names."""
        if not wanted:
            return self._book.worksheets
        chosen = []
        for name in wanted:
            found = [s for s in self._book.worksheets if s.title == name] or [
                s for s in self._book.worksheets if s.title.lower() == name.strip().lower()
            ]
            if not found:
                known = ", ".join(f"`{known}`" for known in self.names[:50])
                raise OfficeError(f"there is no sheet `{name}`; sheets: {known}")
            chosen.append(found[0])
        return chosen

    def read(self, sheet):
        """Reads one sheet, and returns its name and its rows and columns."""
        is_hidden = sheet.sheet_state != "visible"
        if is_hidden:
            self.hidden.append(sheet.title)
        self._markdown.heading(2, f"{sheet.title}{' (hidden)' if is_hidden else ''}")
        rows = self._rows(sheet, self._links(sheet))
        width = max(map(len, rows), default=0)
        if width > MAX_COLUMNS:
            self.cut.append(f"sheet `{sheet.title}` was read up to column {MAX_COLUMNS}")
            rows = [row[:MAX_COLUMNS] for row in rows]
        self._markdown.table([row or [""] for row in rows])
        return {"sheet": sheet.title, "rows": len(rows), "columns": width}

    def _rows(self, sheet, links):
        # A sheet's own word about its size is not trusted.
        sheet.reset_dimensions()
        rows, blank, first = [], 0, None
        try:
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                self._cells += len(row) + 1
                if self._cells > MAX_CELLS:
                    raise OfficeError(
                        f"the sheets have more than {MAX_CELLS:,} cells: name fewer `sheets`, "
                        "lower `max_rows`, or use `data.sheet.convert`"
                    )
                texts = [shown(value) for value in row]
                for column, address in links.get(number, {}).items():
                    if column <= len(texts):
                        texts[column - 1] = self._markdown.link(texts[column - 1], address)
                while texts and not texts[-1]:
                    texts.pop()
                if not texts:
                    blank += bool(rows)
                    continue
                if len(rows) + blank >= self._max_rows:
                    self.cut.append(f"sheet `{sheet.title}` was read up to row {number - 1:,}")
                    break
                rows += [[]] * blank
                blank = 0
                rows.append(texts)
                start = next(n for n, text in enumerate(texts) if text)
                first = start if first is None else min(first, start)
        except (OfficeError, MemoryError):
            raise
        except Exception as error:
            raise OfficeError(f"sheet `{sheet.title}` is damaged: {describe(error)}") from None
        # Tables often begin in the second column.
        return [row[first or 0 :] for row in rows]

    def _links(self, sheet):
        """Returns the addresses that cells link to: row -> column -> address."""
        path = getattr(sheet, "_worksheet_path", "").lstrip("/")
        found = {}
        if not self._package.has(path):
            return found
        relations = self._package.relations(path)
        for text in HYPERLINK.findall(self._tail(path)):
            values = {
                name.rpartition(":")[2]: unescape(a or b, {"&quot;": '"', "&apos;": "'"})
                for name, a, b in ATTRIBUTE.findall(text)
            }
            _, target, outside = relations.get(values.get("id"), ("", "", False))
            try:
                letters, row = coordinate_from_string(values.get("ref", "").partition(":")[0])
                column = column_index_from_string(letters)
            except ValueError:
                continue
            if outside and target:
                found.setdefault(row, {})[column] = target
        return found

    def _tail(self, path):
        """Returns the text of a sheet's part after its cells."""
        tail, is_behind, rest = [], False, b""
        try:
            with self._package.open(path) as part:
                while block := part.read(BLOCK_BYTES):
                    if not is_behind:
                        block = rest + block
                        end = CELLS_END.search(block)
                        is_behind = end is not None
                        rest = block[-64:]
                        block = block[end.end() :] if end else b""
                    tail.append(block)
                    if sum(map(len, tail)) > TAIL_BYTES:
                        break
        except Exception as error:
            if isinstance(error, (MemoryError, OfficeError)):
                raise
            raise OfficeError(f"the file is damaged: {describe(error)}") from None
        return b"".join(tail).decode("utf-8", "replace")


def shown(value):
    """Returns a cell as text: dates in ISO 8601, whole numbers without a fraction."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == MIDNIGHT else value.isoformat(" ")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def describe(error):
    """Returns what an exception says, in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
