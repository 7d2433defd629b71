import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    fig, ax = plt.subplots()
    ax.plot([1, 2], label="first")
    ax.plot([2, 1], "r--", label="second $x^2$")
    legend = ax.legend(title="Key")
    note = ax.annotate("peak", (0.5, 1.5), (0.2, 1.8), arrowprops={"arrowstyle": "->"})
    box = ax.text(0.5, 1.2, "Größe\nline two", fontsize=14, rotation=30)
    ax.set(xlabel="time (s)", ylabel="$\\alpha_i$")
    fig.canvas.draw()
    answers.append(attempt(lambda: [text.get_text() for text in legend.get_texts()]))
    answers.append(attempt(lambda: legend.get_window_extent().bounds))
    answers.append(attempt(lambda: note.get_window_extent().bounds))
    answers.append(attempt(lambda: box.get_window_extent().bounds))
    answers.append(attempt(lambda: ax.xaxis.label.get_window_extent().bounds))
    answers.append(attempt(lambda: ax.yaxis.label.get_window_extent().bounds))
    answers.append(attempt(lambda: ax.get_legend_handles_labels()[1]))
    answers.append(attempt(lambda: [line.get_linestyle() for line in ax.lines]))
    answers.append(attempt(lambda: matplotlib.textpath.TextPath((0, 0), "Ab", size=12).vertices[:5]))
    answers.append(attempt(lambda: matplotlib.textpath.TextPath((0, 0), "$\\frac{1}{2}$", size=12).get_extents().bounds))
    answers.append(attempt(lambda: matplotlib.font_manager.FontProperties().get_name()))
    answers.append(attempt(lambda: fig.canvas.buffer_rgba().shape))
    answers.append(attempt(lambda: int(np.asarray(fig.canvas.buffer_rgba()).shape[0]) * 10**10))
    answers.append(attempt(lambda: ax.get_children().__len__()))
    answers.append(attempt(lambda: plt.getp(ax.lines[1], "color")))
    return answers
