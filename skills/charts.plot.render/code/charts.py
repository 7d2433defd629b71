"""Draws the kinds of charts."""

import datetime
import math
import statistics

import numpy as np

from axes import (
    name_axes,
    scale_axes,
    short_number,
    text_of,
    tick_dates,
    tick_names,
    tick_numbers,
)
from chart_data import DATES, NAMES, NUMBERS
from series import (
    AGGREGATES,
    aggregate,
    choose_y,
    drop_missing,
    is_named,
    read_series,
    sorted_table,
    table_of,
)

MAX_BARS = 2_000
MAX_SLICES = 12
MAX_CELLS = 40_000
LABELLED_CELLS = 900
MARKED_POINTS = 60
SVG_POINTS = 20_000


class Drawing:
    """What is to be drawn, and what became of it: `series`, `dropped`, `warnings`."""

    def __init__(self, axes, data, args):
        self.axes = axes
        self.data = data
        self.args = args
        self.series = []
        self.dropped = 0
        self.warnings = []

    def draw(self):
        """Draws the chart that `kind` names."""
        kind = self.args["kind"]
        if kind in ("line", "area", "scatter"):
            self._points(kind)
        elif kind in ("bar", "stacked_bar"):
            self._bars(is_stacked=kind == "stacked_bar")
        else:
            {
                "histogram": self._histogram,
                "box": self._boxes,
                "pie": self._pie,
                "heatmap": self._heatmap,
            }[kind]()

    def _count(self, series):
        self.series = [{"name": one.name, "points": len(one.y)} for one in series]
        if not any(one.y for one in series):
            raise ValueError("there is nothing to draw: no row has all the values")

    def _legend(self, names):
        if len(names) > 1 and self.args.get("legend", True):
            if len(names) > 8:
                self.axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small")
            else:
                self.axes.legend()

    def _y_name(self, series):
        y = self.args.get("y")
        if isinstance(y, str):
            return y
        return series[0].name if len(series) == 1 else ""

    def _points(self, kind):
        if not self.args.get("x"):
            if kind == "scatter":
                raise ValueError("a scatter chart needs `x`, the column of the horizontal axis")
            self._choose_x()
        args, axes = self.args, self.axes
        x_name, series = read_series(self.data, args)
        self.dropped = drop_missing(series)
        if args.get("aggregate"):
            aggregate(series, args["aggregate"], x_name)
        self._count(series)
        x_values = [value for one in series for value in one.x]
        names = list(dict.fromkeys(x_values)) if is_named(x_values) else None
        places = {name: n for n, name in enumerate(names)} if names else None
        for one in series:
            x = [places[value] for value in one.x] if places else one.x
            if kind == "scatter":
                many = len(x) > SVG_POINTS
                axes.scatter(
                    x,
                    one.y,
                    s=8 if len(x) > 500 else 24,
                    alpha=0.75,
                    linewidths=0,
                    label=one.name,
                    rasterized=many,
                )
                continue
            if not places:
                # A line goes from left to right, whatever the order of the rows.
                order = sorted(range(len(x)), key=lambda n: x[n])
                x, one.y = [x[n] for n in order], [one.y[n] for n in order]
            marker = "o" if len(x) <= MARKED_POINTS else None
            (line,) = axes.plot(x, one.y, marker=marker, markersize=4, label=one.name)
            if kind == "area":
                axes.fill_between(x, one.y, alpha=0.25, color=line.get_color(), linewidth=0)
        if places:
            tick_names(axes, range(len(names)), names)
        elif any(isinstance(value, datetime.datetime) for value in x_values):
            tick_dates(axes.xaxis)
        elif not args.get("log_x"):
            tick_numbers(axes.xaxis, x_values)
        name_axes(axes, args, x_name, self._y_name(series))
        if places and (args.get("log_x") or args.get("x_min") is not None):
            raise ValueError("`log_x`, `x_min` and `x_max` are for an axis of numbers")
        scale_axes(axes, args, [v for one in series for v in one.y], x_values)
        self._legend(series)

    def _bars(self, *, is_stacked):
        args, axes = self.args, self.axes
        if not args.get("x"):
            self._choose_x()
        x_name, series = read_series(self.data, self.args)
        self.dropped = drop_missing(series)
        aggregate(series, args.get("aggregate"), x_name or "row")
        self._count(series)
        order, rows = sorted_table(*table_of(series), args.get("sort") or "none")
        if len(order) * len(rows) > MAX_BARS:
            raise ValueError(
                f"{len(order) * len(rows):,} bars are too many, {MAX_BARS:,} can be drawn: "
                "aggregate the rows, or draw a histogram"
            )
        if is_stacked and any(value < 0 for row in rows for value in row):
            self.warnings.append("negative values are stacked downwards from 0")
        is_flat = bool(args.get("horizontal"))
        places = np.arange(len(order))
        size = 0.8 if is_stacked else 0.8 / len(rows)
        above, below = np.zeros(len(order)), np.zeros(len(order))
        for n, (one, row) in enumerate(zip(series, rows, strict=True)):
            values = np.nan_to_num(np.array(row, dtype=float))
            start = np.where(values < 0, below, above) if is_stacked else np.zeros(len(order))
            at = places if is_stacked else places + (n - (len(rows) - 1) / 2) * size
            if is_flat:
                bars = axes.barh(at, values, size, left=start, label=one.name)
            else:
                bars = axes.bar(at, values, size, bottom=start, label=one.name)
            above, below = above + np.maximum(values, 0), below + np.minimum(values, 0)
            if args.get("labels"):
                texts = ["" if math.isnan(v) else short_number(v) for v in row]
                place = "center" if is_stacked else "edge"
                axes.bar_label(bars, texts, label_type=place, padding=0 if is_stacked else 2)
        labels = [text_of(value) for value in order]
        tick_names(axes, places, labels, is_vertical=is_flat)
        if is_flat:
            axes.invert_yaxis()
            name_axes(axes, args, self._y_name(series), x_name)
        else:
            name_axes(axes, args, x_name, self._y_name(series))
        lengths = [value for row in rows for value in row if not math.isnan(value)]
        scale_axes(axes, args, [] if is_flat else lengths, lengths if is_flat else [])
        self._legend(series)

    def _choose_x(self):
        """Takes the first column of names or dates as `x`."""
        names = [n for n, kind in self.data.kinds.items() if kind in (NAMES, DATES)]
        taken = (self.args.get("y"), self.args.get("group"))
        names = [name for name in names if name not in taken]
        if names:
            self.args = {**self.args, "x": names[0]}

    def _histogram(self):
        args, axes = self.args, self.axes
        name = args.get("x") or args.get("y")
        if isinstance(name, str):
            self.args = args = {**args, "x": None, "y": name}
        _, series = read_series(self.data, args)
        self.dropped = drop_missing(series)
        self._count(series)
        values = [one.y for one in series if one.y]
        names = [one.name for one in series if one.y]
        everything = np.concatenate([np.asarray(v, dtype=float) for v in values])
        if args.get("log_x"):
            scale_axes(axes, {"log_x": True}, [], everything.tolist())
            count = args.get("bins") or 30
            low, high = everything.min(), everything.max()
            edges = np.geomspace(low, high if high > low else low * 10, count + 1)
        else:
            edges = bin_edges(everything, args.get("bins"))
        for name, numbers in zip(names, values, strict=True):
            alpha = 0.6 if len(values) > 1 else 1
            axes.hist(
                numbers, bins=edges, label=name, alpha=alpha, edgecolor="white", linewidth=0.4
            )
        label = args["y"] if isinstance(args.get("y"), str) else names[0] if len(names) == 1 else ""
        name_axes(axes, args, label, "count")
        scale_axes(axes, {**args, "log_x": False}, [], everything.tolist())
        self._legend(names)

    def _boxes(self):
        args, axes = self.args, self.axes
        group = args.get("group") or args.get("x")
        _, series = read_series(self.data, {**args, "x": None, "group": group})
        self.dropped = drop_missing(series)
        self._count(series)
        series = [one for one in series if one.y]
        if args.get("sort") in ("ascending", "descending"):
            is_falling = args["sort"] == "descending"
            series.sort(key=lambda one: statistics.median(one.y), reverse=is_falling)
        elif args.get("sort") == "x":
            series.sort(key=lambda one: one.name)
        is_flat = bool(args.get("horizontal"))
        style = {"patch_artist": True, "medianprops": {"color": "black"}, "widths": 0.6}
        style["flierprops"] = {"markersize": 3, "marker": "o", "alpha": 0.5}
        drawn = axes.boxplot(
            [one.y for one in series],
            orientation="horizontal" if is_flat else "vertical",
            **style,
        )
        for box in drawn["boxes"]:
            box.set(facecolor="#9ecae1")
        places = range(1, len(series) + 1)
        tick_names(axes, places, [one.name for one in series], is_vertical=is_flat)
        y_name = args["y"] if isinstance(args.get("y"), str) else ""
        if is_flat:
            axes.invert_yaxis()
        name_axes(axes, args, *((y_name, group) if is_flat else (group, y_name)))
        values = [value for one in series for value in one.y]
        scale_axes(axes, args, [] if is_flat else values, values if is_flat else [])

    def _pie(self):
        args, axes = self.args, self.axes
        if not args.get("x"):
            self._choose_x()
        x_name, series = read_series(self.data, self.args)
        if len(series) > 1:
            names = ", ".join(f"`{one.name}`" for one in series[:20])
            raise ValueError(f"a pie shows one column: pass one of {names} as `y`")
        self.dropped = drop_missing(series)
        aggregate(series, args.get("aggregate"), x_name or "row")
        self._count(series)
        order, (values,) = sorted_table(*table_of(series), args.get("sort") or "none")
        if any(value < 0 for value in values) or not sum(values) > 0:
            raise ValueError("a pie needs values that are not negative, and not all of them 0")
        labels = [text_of(value) for value in order]
        if len(values) > MAX_SLICES:
            ranked = sorted(range(len(values)), key=lambda n: -values[n])
            kept = sorted(ranked[: MAX_SLICES - 1])
            rest = math.fsum(values[n] for n in ranked[MAX_SLICES - 1 :])
            self.warnings.append(f"the {len(values) - len(kept):,} smallest slices became `Other`")
            labels, values = (
                [labels[n] for n in kept] + ["Other"],
                [values[n] for n in kept] + [rest],
            )
        axes.pie(
            values,
            labels=labels,
            autopct="%1.1f%%",
            startangle=90,
            counterclock=False,
            wedgeprops={"edgecolor": "white"},
        )
        axes.set_aspect("equal")
        if args.get("title"):
            axes.set_title(args["title"], wrap=True)

    def _heatmap(self):
        args, axes = self.args, self.axes
        if args.get("value") or (args.get("x") and isinstance(args.get("y"), str)):
            rows, columns, grid, names = self._long_grid()
        else:
            rows, columns, grid, names = self._wide_grid()
        if grid.size > MAX_CELLS:
            raise ValueError(f"{grid.size:,} cells are too many; {MAX_CELLS:,} can be drawn")
        if not np.isfinite(grid).any():
            raise ValueError("there is nothing to draw: no row has all the values")
        self.series = [{"name": names[2], "points": int(np.isfinite(grid).sum())}]
        image = axes.imshow(grid, aspect="auto", cmap="viridis", interpolation="nearest")
        axes.figure.colorbar(image, ax=axes, label=names[2])
        axes.grid(False)
        tick_names(axes, range(len(columns)), columns)
        tick_names(axes, range(len(rows)), rows, is_vertical=True)
        name_axes(axes, args, names[0], names[1])
        if args.get("labels") and grid.size <= LABELLED_CELLS:
            middle = (np.nanmin(grid) + np.nanmax(grid)) / 2
            for (row, column), value in np.ndenumerate(grid):
                if math.isfinite(value):
                    colour = "white" if value < middle else "black"
                    text = short_number(value)
                    axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8)
        elif args.get("labels"):
            self.warnings.append(f"{grid.size:,} cells are too many for `labels`")

    def _long_grid(self):
        args, data = self.args, self.data
        x, y = data.find(args.get("x"), "x"), data.find(args.get("y"), "y")
        how = args.get("aggregate")
        value = data.find(args["value"], "value") if args.get("value") else None
        if value is None:
            if how not in (None, "count"):
                raise ValueError("pass the column that is aggregated as `value`")
            numbers, how = [1.0] * data.row_count, "count"
        else:
            numbers = data.numbers(value, "value")
        cells = {}
        for a, b, number in zip(data.columns[x], data.columns[y], numbers, strict=True):
            if a is None or b is None or math.isnan(number):
                self.dropped += 1
            else:
                cells.setdefault((b, a), []).append(number)
        rows, columns = ordered(b for b, _ in cells), ordered(a for _, a in cells)
        if len(rows) * len(columns) > MAX_CELLS:
            raise ValueError(
                f"{len(rows) * len(columns):,} cells are too many; {MAX_CELLS:,} can be drawn"
            )
        grid = np.full((len(rows), len(columns)), np.nan)
        row_of = {name: n for n, name in enumerate(rows)}
        column_of = {name: n for n, name in enumerate(columns)}
        for (b, a), numbers in cells.items():
            if len(numbers) > 1 and how is None:
                raise ValueError(
                    f"several rows are for `{text_of(a)}` and `{text_of(b)}`: pass `aggregate`"
                )
            grid[row_of[b], column_of[a]] = AGGREGATES[how](numbers) if how else numbers[0]
        names = (x, y, value or "count")
        return list(map(text_of, rows)), list(map(text_of, columns)), grid, names

    def _wide_grid(self):
        """Takes rows as rows and columns of numbers as columns."""
        data = self.data
        label = (
            data.find(self.args["x"], "x")
            if self.args.get("x")
            else next((name for name, kind in data.kinds.items() if kind != NUMBERS), None)
        )
        wanted = {**self.args, "y": self.args.get("y")}
        names = [n for n, k in data.kinds.items() if k == NUMBERS and n != label]
        if wanted["y"]:
            names = choose_y(data, wanted)
        if not names:
            raise ValueError("there is no column of numbers: name `x`, `y` and `value`")
        grid = np.array([data.numbers(name, "y") for name in names], dtype=float).T
        rows = data.columns[label] if label else range(1, data.row_count + 1)
        return (
            [text_of(r) if r is not None else "" for r in rows],
            names,
            grid,
            ("", label or "", ""),
        )


def ordered(values):
    """Returns different values: numbers and dates by size, names as they come."""
    found = list(dict.fromkeys(values))
    return found if is_named(found) else sorted(found)


def bin_edges(values, count):
    """Returns the edges of a histogram, for whole numbers of a small range one bar each."""
    low, high = float(values.min()), float(values.max())
    if count is None:
        is_whole = bool(np.all(values == np.floor(values)))
        if is_whole and high - low <= 40:
            return np.arange(low - 0.5, high + 1, 1.0)
        spread = np.subtract(*np.percentile(values, [75, 25]))
        width = 2 * spread / len(values) ** (1 / 3)
        # The rule of Freedman and Diaconis, within what can be told apart.
        wanted = (high - low) / width if width > 0 else 10
        count = int(min(max(math.ceil(wanted), 5), 100))
    return np.histogram_bin_edges(values, bins=count)
