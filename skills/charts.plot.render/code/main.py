"""Draws a chart from rows or a CSV blob."""

import difflib
import io
import warnings

import matplotlib
from matplotlib.figure import Figure
from runtime import blobs, log

from chart_data import ChartData
from charts import Drawing

DPI = 100
KINDS = {"png": "image/png", "svg": "image/svg+xml"}

# Nothing here depends on the time or on chance, so that equal charts are equal blobs.
STYLE = {
    "svg.hashsalt": "charts.plot.render",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "large",
    "figure.dpi": DPI,
}
METADATA = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}

INPUTS = (
    "kind rows data_blob x y group value aggregate title x_label y_label log_x log_y x_min x_max "
    "y_min y_max horizontal sort bins labels legend format width height"
).split()
OFTEN_MEANT = {
    "type": "kind",
    "chart_type": "kind",
    "data": "rows",
    "csv_blob": "data_blob",
    "hue": "group",
    "color": "group",
    "group_by": "group",
    "series": "group",
    "x_column": "x",
    "y_column": "y",
    "y_columns": "y",
    "values": "y",
    "labels_column": "x",
    "xlabel": "x_label",
    "ylabel": "y_label",
    "xlim": "x_min",
    "ylim": "y_min",
    "agg": "aggregate",
    "output_format": "format",
    "log_scale": "log_y",
    "figsize": "width",
}


def main(args):
    """Returns the picture of `args`; see SKILL.md."""
    refuse_unknown(args)
    try:
        return render(args)
    except MemoryError:
        raise MemoryError(
            "the chart needs more memory than a run may have: aggregate the rows first, or draw "
            "it smaller"
        ) from None


def refuse_unknown(args):
    """Raises `ValueError` for arguments that would be ignored."""
    unknown = [name for name in args if name not in INPUTS]
    if not unknown:
        return
    meant = OFTEN_MEANT.get(unknown[0].lower()) or next(
        iter(difflib.get_close_matches(unknown[0], INPUTS, 1)), None
    )
    hint = f": did you mean `{meant}`?" if meant else ""
    raise ValueError(f"there is no input `{unknown[0]}`{hint} Inputs: {', '.join(INPUTS)}")


def render(args):
    """Reads the data, draws, and stores the picture."""
    data = ChartData(args)
    log.info(f"{data.row_count} rows, {len(data.columns)} columns")
    chosen = args.get("format") or "png"
    width, height = args.get("width", 960), args.get("height", 600)
    file = io.BytesIO()
    with matplotlib.rc_context(STYLE), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, layout="constrained")
        drawing = Drawing(figure.add_subplot(), data, args)
        drawing.draw()
        figure.savefig(file, format=chosen, dpi=DPI, metadata=METADATA[chosen])
    notes = data.warnings + drawing.warnings + explain(caught)
    if drawing.dropped:
        noun = "point was" if drawing.dropped == 1 else "points were"
        notes.append(f"{drawing.dropped:,} {noun} left out, because a value is missing")
    image_blob = blobs.write_bytes(file.getvalue(), kind=KINDS[chosen])
    points = sum(one["points"] for one in drawing.series)
    count = len(drawing.series)
    return {
        "summary": f"A {args['kind'].replace('_', ' ')} chart of {points:,} points in {count} "
        f"series, {width} x {height} pixels, is in {image_blob}.",
        "image_blob": image_blob,
        "format": chosen,
        "width": width,
        "height": height,
        "rows": data.row_count,
        "series": [{**one, "name": one["name"][:60]} for one in drawing.series[:20]],
        "dropped": drawing.dropped,
        "warnings": [note[:300] for note in notes[:5]],
    }


def explain(caught):
    """Returns what matplotlib warned of, as far as it concerns the picture."""
    texts = [str(warning.message) for warning in caught]
    if any("missing from font" in text for text in texts):
        return ["some characters have no glyph in the font and show as boxes"]
    return (
        ["the labels do not fit: draw it larger"]
        if any("constrained_layout not applied" in text for text in texts)
        else []
    )
