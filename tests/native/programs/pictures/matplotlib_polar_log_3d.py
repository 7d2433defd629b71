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
    fig = plt.figure()
    polar = fig.add_subplot(221, projection="polar")
    polar.plot([0, 1, 2], [1, 2, 3])
    log = fig.add_subplot(222, xscale="log", yscale="symlog")
    log.plot([1, 10**6], [-100, 10**10])
    cube = fig.add_subplot(223, projection="3d")
    cube.scatter([1, 2], [3, 4], [5, 6])
    shared = fig.add_subplot(224, sharex=log)
    shared.bar([1, 10], [2, 3])
    fig.canvas.draw()
    answers.append(attempt(lambda: polar.get_rmax()))
    answers.append(attempt(lambda: polar.get_xticks()))
    answers.append(attempt(lambda: polar.get_yticks()))
    answers.append(attempt(lambda: log.get_xlim()))
    answers.append(attempt(lambda: log.get_ylim()))
    answers.append(attempt(lambda: log.get_xticks()))
    answers.append(attempt(lambda: log.get_yticks()))
    answers.append(attempt(lambda: [label.get_text() for label in log.get_xticklabels()]))
    answers.append(attempt(lambda: log.transData.transform((1000, 100))))
    answers.append(attempt(lambda: cube.get_xlim()))
    answers.append(attempt(lambda: cube.get_zlim()))
    answers.append(attempt(lambda: cube.get_proj().round(8)))
    answers.append(attempt(lambda: cube.get_zticks()))
    answers.append(attempt(lambda: cube.elev))
    answers.append(attempt(lambda: shared.get_xlim()))
    answers.append(attempt(lambda: shared.get_xscale()))
    answers.append(attempt(lambda: log.xaxis.get_minor_locator().__class__.__name__))
    answers.append(attempt(lambda: cube.plot_surface(np.eye(3), np.ones((3, 3)), np.eye(3)).get_array() is None))
    return answers
