"""DataFrames as the content of blobs. Needs pandas, and pyarrow for Parquet."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, cast

from wardian.options import FrameFormat

if TYPE_CHECKING:
    import pandas

KINDS: dict[FrameFormat, str] = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def checked(format: FrameFormat) -> FrameFormat:
    """The format, if there is such a one."""
    if format in KINDS:
        return format
    raise ValueError(f"there is no format `{format}` of tables, but {' and '.join(KINDS)}")


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
    """The table as a DataFrame. The labels of a Series are a column of it."""
    if is_frame(table):
        return cast("pandas.DataFrame", table)
    series = cast("pandas.Series[Any]", table)
    frame = series.to_frame()
    # A default index carries no information.
    is_numbered = type(series.index).__name__ == "RangeIndex" and series.index.name is None
    return frame if is_numbered else frame.reset_index()


def to_bytes(frame: pandas.DataFrame, format: FrameFormat) -> tuple[bytes, str]:
    """The content of the blob, and its kind."""
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
