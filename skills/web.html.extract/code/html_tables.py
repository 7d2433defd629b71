"""Reads tables of data as grids of text."""

from content import flat_text

SPAN_MOST = 100
CELLS_MOST = 100_000


class HtmlTable:
    """A table as a grid: `caption`, `columns` if it names them, and `rows`, all of one width."""

    def __init__(self, element):
        captions = element.xpath("./caption")
        self.caption = flat_text(captions[0]) if captions else None
        grid, is_header = read_grid(element)
        self.columns = None
        if len(grid) > 1 and is_header[0]:
            self.columns = grid.pop(0)
        self.rows = grid

    def brief(self):
        """Returns what the table is about, without its rows."""
        return {
            "caption": self.caption,
            "columns": self.columns,
            "column_count": len(self.rows[0]),
            "row_count": len(self.rows),
        }

    def full(self):
        """Returns the whole table."""
        return {"caption": self.caption, "columns": self.columns, "rows": self.rows}

    def markdown(self):
        """Returns the table as Markdown."""
        head = self.columns or [""] * len(self.rows[0])
        lines = [head, ["---"] * len(head), *self.rows]
        return "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
        )


def read_table(element):
    """Returns the `HtmlTable` of a `table` element, or None if it only arranges the page."""
    if element.get("role") in ("presentation", "none") or element.find(".//table") is not None:
        return None
    table = HtmlTable(element)
    least = 1 if table.columns is not None else 2
    is_data = len(table.rows) >= least and len(table.rows[0]) >= 2 and any(map(any, table.rows))
    return table if is_data else None


def read_grid(element):
    """Returns the rows of a table, cells that span several repeated, and which rows are headers."""
    grid, headers = [], []
    pending = {}
    cells = 0
    for row in element.iter("tr"):
        line, column, is_header = [], 0, True
        for cell in row.iterchildren("td", "th"):
            column = fill_from_above(line, column, pending)
            text = flat_text(cell)
            is_header = is_header and cell.tag == "th"
            across, down = span(cell, "colspan"), span(cell, "rowspan")
            for _ in range(across):
                line.append(text)
                if down > 1:
                    pending[column] = [down - 1, text]
                column += 1
        fill_from_above(line, column, pending)
        cells += len(line)
        if line and cells <= CELLS_MOST:
            grid.append(line)
            headers.append(is_header or row.getparent().tag == "thead")
    width = max(map(len, grid), default=0)
    return [line + [""] * (width - len(line)) for line in grid], headers


def fill_from_above(line, column, pending):
    """Adds the cells that reach down into this row at `column`; returns the next free column."""
    while column in pending:
        left, text = pending[column]
        line.append(text)
        pending[column][0] = left - 1
        if left == 1:
            del pending[column]
        column += 1
    return column


def span(cell, attribute):
    """Returns how many rows or columns a cell takes."""
    text = (cell.get(attribute) or "1").strip()
    return min(int(text), SPAN_MOST) if text.isdecimal() and int(text[:6]) > 0 else 1
