"""Charts: matplotlib drawing to files (there is no screen), and seaborn."""

import io

import matplotlib

matplotlib.use("Agg")

import matplotlib.dates
import matplotlib.pyplot
import numpy
import pandas
import seaborn


def draw_a_chart():
    """Draws the common kinds of axes once and writes them in the common formats."""
    figure, axes = matplotlib.pyplot.subplots(2, 3, figsize=(6, 4))
    x = numpy.linspace(0, 1, 20)
    axes[0, 0].plot(x, x**2, label="square")
    axes[0, 0].legend(title="lines")
    axes[0, 0].set(title="A title", xlabel="x", ylabel="$y^2$")
    axes[0, 1].bar(["a", "b"], [1, 2])
    axes[0, 1].tick_params(axis="x", rotation=45)
    axes[0, 2].hist(x, bins=5)
    axes[1, 0].scatter(x, x, c=x)
    axes[1, 1].pie([1, 2], labels=["a", "b"], autopct="%1.0f%%")
    image = axes[1, 2].imshow(x.reshape(4, 5))
    figure.colorbar(image)
    figure.tight_layout()
    for kind in ("png", "svg", "pdf"):
        figure.savefig(io.BytesIO(), format=kind)
    matplotlib.pyplot.close(figure)


def draw_a_table():
    """Draws from pandas, with dates on an axis."""
    table = pandas.DataFrame({"n": range(5)}, index=pandas.date_range("2024-01-01", periods=5))
    axes = table.plot()
    axes.figure.savefig(io.BytesIO(), format="png", dpi=150, bbox_inches="tight")
    matplotlib.pyplot.close("all")
    seaborn.barplot(data=table.reset_index(), x="n", y="n")
    matplotlib.pyplot.savefig(io.BytesIO())
    matplotlib.pyplot.close("all")


draw_a_chart()
draw_a_table()
