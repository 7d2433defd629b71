"""DataFrames as the content of blobs. Requires pandas, and pyarrow for Parquet."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, cast

from wardian.options import FrameFormat

if TYPE_CHECKING:
    import pandas

KINDS: dict[FrameFormat, str] = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def checked(format: FrameFormat) -> FrameFormat:
    """The format, if it exists."""
    if format in KINDS:
        return format
    raise ValueError(f"`{format}` is not a format of tables; the formats are {' and '.join(KINDS)}")


def is_frame(value: object) -> bool:
    """True for a DataFrame. Does not import pandas."""
    kind = type(value)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def is_series(value: object) -> bool:
    """True for a Series. Does not import pandas."""
    kind = type(value)
    return kind.__name__ == "Series" and kind.__module__.partition(".")[0] == "pandas"


def is_table(value: object) -> bool:
    """True for a DataFrame or a Series."""
    return is_frame(value) or is_series(value)


def as_frame(table: pandas.DataFrame | pandas.Series[Any]) -> pandas.DataFrame:
    """The table as a DataFrame with the default index, the row numbers.

    Any other index becomes columns before the others, with the names that it would have in the
    output of a program.
    """
    is_whole = is_frame(table)
    frame = cast("pandas.DataFrame", table) if is_whole else cast("pandas.Series[Any]", table).to_frame()
    if _is_numbering(frame.index):
        return frame
    used = {str(name) for name in frame.columns}
    names: list[str] = []
    for at, given in enumerate(frame.index.names):
        if given is None:
            name = "index" if frame.index.nlevels == 1 and "index" not in used else f"level_{at}"
        else:
            name = str(given)
        while name in used:
            name += "_index"
        used.add(name)
        names.append(name)
    return frame.rename_axis(index=names).reset_index()


def _is_numbering(index: pandas.Index[Any]) -> bool:
    """True for the default index of pandas, which carries no information."""
    if type(index).__name__ != "RangeIndex" or index.name is not None:
        return False
    numbers = cast("pandas.RangeIndex", index)
    return numbers.start == 0 and numbers.step == 1


def to_bytes(frame: pandas.DataFrame, format: FrameFormat) -> tuple[bytes, str]:
    """The content of the blob, and its kind."""
    frame = as_frame(frame)
    if checked(format) == "csv":
        return frame.to_csv(index=False).encode(), KINDS[format]
    file = io.BytesIO()
    frame.to_parquet(file, index=False)
    return file.getvalue(), KINDS[format]


def format_of(kind: str) -> FrameFormat:
    """The format of a blob of this kind."""
    return "parquet" if "parquet" in kind else "csv"


def from_file(file: IO[bytes], format: FrameFormat) -> pandas.DataFrame:
    """Reads the content of a blob."""
    import pandas

    return pandas.read_parquet(file) if checked(format) == "parquet" else pandas.read_csv(file)
