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
    fig, ax = plt.subplots(figsize=(6, 4))
    ax.plot([1, 5, 10], [3.5, 2 * 10**10, 7])
    ax.set_title("Sales")
    fig.canvas.draw()
    answers.append(attempt(lambda: ax.get_xlim()))
    answers.append(attempt(lambda: ax.get_ylim()))
    answers.append(attempt(lambda: ax.get_xticks()))
    answers.append(attempt(lambda: ax.get_yticks()))
    answers.append(attempt(lambda: [label.get_text() for label in ax.get_xticklabels()]))
    answers.append(attempt(lambda: [label.get_text() for label in ax.get_yticklabels()]))
    answers.append(attempt(lambda: ax.yaxis.get_offset_text().get_text()))
    answers.append(attempt(lambda: ax.get_position().bounds))
    answers.append(attempt(lambda: ax.transData.transform((5, 10**10))))
    answers.append(attempt(lambda: ax.transAxes.transform((0.5, 0.5))))
    answers.append(attempt(lambda: ax.transData.inverted().transform((300, 200))))
    answers.append(attempt(lambda: fig.get_size_inches()))
    answers.append(attempt(lambda: fig.dpi * 10**10))
    answers.append(attempt(lambda: fig.canvas.get_width_height()))
    answers.append(attempt(lambda: ax.title.get_window_extent().bounds))
    answers.append(attempt(lambda: ax.xaxis.get_tightbbox().bounds))
    answers.append(attempt(lambda: ax.lines[0].get_data()))
    answers.append(attempt(lambda: ax.lines[0].get_color()))
    answers.append(attempt(lambda: ax.dataLim.bounds))
    answers.append(attempt(lambda: ax.get_tightbbox().bounds))
    answers.append(attempt(lambda: ax.margins()))
    return answers
