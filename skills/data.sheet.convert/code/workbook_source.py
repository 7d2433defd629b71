"""Reads one sheet of an Excel workbook (xlsx, xlsm) with a bound for its cells."""

import datetime

import openpyxl
from openpyxl.cell.cell import ERROR_CODES
from runtime import blobs

from office_zip import open_package
from value_types import DATE, DATETIME, joined, kind_of_value

ROWS_AT_ONCE = 10_000

# Every cell costs memory until the result is written. Empty cells count, because a sheet can
# claim a cell in the last column of every row.
MAX_CELLS = 4_000_000

# Places of the table, most of them empty if cells are far apart.
MAX_TABLE = 8_000_000
MIDNIGHT = datetime.time()


class WorkbookSource:
    """A sheet: `names`, `kinds`, and `parts()`, each a list of columns."""

    def __init__(self, blob_id, options):
        self.warnings = []
        self._errors = 0
        with blobs.open(blob_id) as stream:
            self._open(stream, options)

    def _open(self, stream, options):
        names = open_package(stream, "a workbook").namelist()
        if "xl/workbook.bin" in names:
            raise ValueError("the workbook is binary (xlsb): save it as xlsx")
        if not any(name.lower().startswith("xl/") for name in names):
            raise ValueError("the blob is an Office document without sheets")
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        except MemoryError:
            raise
        except Exception as error:
            raise ValueError(f"the workbook is damaged: {type(error).__name__}: {error}") from None
        self.sheets = [sheet.title for sheet in book.worksheets]
        sheet = self._choose(book, options.get("sheet"))
        self.sheet = sheet.title
        rows = self._read(sheet, options.get("max_rows"), options)
        has_header = options.get("header", True)
        header = (
            ["" if v is None else str(v).strip() for v in rows.pop(0)]
            if (has_header and rows)
            else []
        )
        width = max([len(header), *map(len, rows)], default=0)
        if width * len(rows) > MAX_TABLE:
            raise ValueError(
                f"the cells of sheet `{self.sheet}` are spread over {len(rows):,} rows and "
                f"{width:,} columns: pass `max_rows`, or delete what is far away"
            )
        self._columns = [[row[n] if n < len(row) else None for row in rows] for n in range(width)]
        self.names = header + [""] * (width - len(header))
        self.kinds = [self._settle(n) for n in range(width)]
        if self._errors:
            self.warnings.append(f"cells with errors such as #N/A are empty: {self._errors:,}")

    def parts(self):
        """Yields the rows, a few thousand at once, as columns of values."""
        count = len(self._columns[0]) if self._columns else 0
        for start in range(0, count, ROWS_AT_ONCE):
            yield [column[start : start + ROWS_AT_ONCE] for column in self._columns]

    def _choose(self, book, wanted):
        if not book.worksheets:
            raise ValueError("the workbook has no sheet with cells")
        if not wanted:
            return book.worksheets[0]
        for sheet in book.worksheets:
            if sheet.title == wanted:
                return sheet
        for sheet in book.worksheets:
            if sheet.title.strip().lower() == wanted.strip().lower():
                return sheet
        if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(book.worksheets):
            return book.worksheets[int(wanted) - 1]
        known = ", ".join(f"`{name}`" for name in self.sheets[:50])
        raise ValueError(f"there is no sheet `{wanted}`; sheets: {known}")

    def _read(self, sheet, max_rows, options):
        """Returns the rows from the first that is not empty, without empty cells at their ends."""
        # A sheet's own word about its size is not trusted.
        sheet.reset_dimensions()
        most = None if max_rows is None else max_rows + bool(options.get("header", True))
        rows, cells, blank, skip = [], 0, 0, options.get("skip_rows", 0)
        try:
            for row in sheet.iter_rows(values_only=True):
                cells += len(row) + 1
                if cells > MAX_CELLS:
                    raise ValueError(
                        f"sheet `{self.sheet}` has more than {MAX_CELLS:,} cells: pass `max_rows`, "
                        "or save it as CSV"
                    )
                row = [self._plain(value) for value in row]
                while row and row[-1] is None:
                    row.pop()
                if not row:
                    blank += bool(rows)
                    continue
                if skip:
                    skip -= 1
                    continue
                # Blank rows at the end are no rows; those between others are.
                rows += [[]] * blank
                blank = 0
                rows.append(row)
                if most is not None and len(rows) > most:
                    break
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            raise ValueError(
                f"sheet `{self.sheet}` is damaged: {type(error).__name__}: {error}"
            ) from None
        return rows

    def _plain(self, value):
        if isinstance(value, str):
            if value in ERROR_CODES:
                self._errors += 1
                return None
            return value or None
        if isinstance(value, datetime.timedelta):
            return str(value)
        return value

    def _settle(self, position):
        """Returns a column's kind; moments that are all at midnight become dates."""
        column = self._columns[position]
        kind = joined(set(map(kind_of_value, column)))
        if kind == DATETIME and all(v is None or v.time() == MIDNIGHT for v in column):
            self._columns[position] = [v and v.date() for v in column]
            return DATE
        return kind
