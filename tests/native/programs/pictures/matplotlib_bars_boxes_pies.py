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
    answers.append(attempt(lambda: [[bar.get_x(), bar.get_width(), bar.get_height()] for bar in ax.bar(["a", "b"], [3, 10**10])]))
    answers.append(attempt(lambda: [[bar.get_y(), bar.get_width()] for bar in ax.barh([1, 2], [3, 4])]))
    answers.append(attempt(lambda: [text.get_text() for text in ax.bar_label(ax.bar([1, 2], [1234567, 2]))]))
    answers.append(attempt(lambda: [text.get_text() for text in ax.pie([1, 2, 3], labels=list("abc"), autopct="%1.1f%%")[2]]))
    answers.append(attempt(lambda: [[wedge.theta1, wedge.theta2] for wedge in ax.pie([1, 2, 3])[0]]))
    answers.append(attempt(lambda: [line.get_ydata() for line in ax.boxplot([1, 2, 3, 4, 50])["whiskers"]]))
    answers.append(attempt(lambda: [line.get_ydata() for line in ax.boxplot([1, 2, 3, 4, 50])["fliers"]]))
    answers.append(attempt(lambda: ax.boxplot([[1, 2, 3], [4, 5, 9]])["medians"][1].get_ydata()))
    answers.append(attempt(lambda: matplotlib.cbook.boxplot_stats([1, 2, 3, 4, 50])[0]["q3"]))
    answers.append(attempt(lambda: ax.violinplot([1, 2, 2, 3, 5])["bodies"][0].get_paths()[0].vertices[:3]))
    answers.append(attempt(lambda: ax.errorbar([1, 2], [3, 4], yerr=[0.5, 1]).lines[2][0].get_segments()[0]))
    answers.append(attempt(lambda: ax.stackplot([1, 2, 3], [1, 2, 3], [2, 2, 2])[1].get_paths()[0].vertices[:4]))
    answers.append(attempt(lambda: ax.fill_between([1, 2, 3], [1, 4, 9]).get_paths()[0].vertices))
    answers.append(attempt(lambda: ax.step([1, 2, 3], [1, 4, 9])[0].get_xydata()))
    answers.append(attempt(lambda: ax.stem([1, 2], [3, 4]).markerline.get_ydata()))
    answers.append(attempt(lambda: ax.scatter([1, 2], [3, 4], c=[0, 1], s=[10, 20]).get_offsets().tolist()))
    return answers
