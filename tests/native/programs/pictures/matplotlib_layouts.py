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
    def boxes(figure):
            figure.canvas.draw()
            return [np.round(part.get_position().bounds, 6).tolist() for part in figure.axes]
    answers.append(attempt(lambda: boxes(plt.subplots(2, 2)[0])))
    answers.append(attempt(lambda: boxes(plt.subplots(2, 3, layout="constrained")[0])))
    answers.append(attempt(lambda: boxes(plt.subplots(1, 2, layout="tight")[0])))
    answers.append(attempt(lambda: boxes(plt.subplots(1, 2, width_ratios=[1, 3])[0])))
    answers.append(attempt(lambda: boxes(plt.subplot_mosaic("AB;CC")[0])))
    answers.append(attempt(lambda: boxes(plt.figure(figsize=(5, 5)).subplots(1, 1, subplot_kw={"projection": "polar"}).figure)))
    answers.append(attempt(lambda: boxes(plt.subplots(1, 1, subplot_kw={"aspect": "equal"})[0])))
    answers.append(attempt(lambda: boxes(plt.figure().add_subplot(projection="3d").figure)))
    answers.append(attempt(lambda: boxes(plt.figure().add_axes((0.1, 0.2, 0.3, 0.4)).twinx().figure)))
    answers.append(attempt(lambda: plt.GridSpec(3, 3)[0, 1:].get_position(plt.figure()).bounds))
    answers.append(attempt(lambda: sorted(plt.subplot_mosaic([["a", "b"]])[1])))
    answers.append(attempt(lambda: plt.figure(num=7).number * 10**10))
    answers.append(attempt(lambda: plt.get_fignums()[-1]))
    return answers
