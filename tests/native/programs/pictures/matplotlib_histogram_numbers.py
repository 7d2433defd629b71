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
    rng = np.random.default_rng(5)
    values = rng.normal(size=500)
    fig, ax = plt.subplots()
    answers.append(attempt(lambda: ax.hist(values, bins=8)[0]))
    answers.append(attempt(lambda: ax.hist(values, bins=8)[1]))
    answers.append(attempt(lambda: ax.hist(values, bins=4)[0].astype(int) * 10**10))
    answers.append(attempt(lambda: ax.hist(values, bins="auto")[0].tolist()))
    answers.append(attempt(lambda: ax.hist(values, density=True, cumulative=True)[0].tolist()))
    answers.append(attempt(lambda: ax.hist([values, values + 1], bins=3, stacked=True)[0]))
    answers.append(attempt(lambda: ax.hist2d(values, values**2, bins=3)[0]))
    answers.append(attempt(lambda: ax.hist(values, bins=[-3, 0, 3], weights=np.full(500, 10**8))[0]))
    answers.append(attempt(lambda: [[patch.get_x(), patch.get_height()] for patch in ax.hist(values, 3)[2]]))
    answers.append(attempt(lambda: ax.hexbin(values, values, gridsize=5).get_array().tolist()[:10]))
    answers.append(attempt(lambda: len(ax.patches)))
    answers.append(attempt(lambda: ax.ecdf(values[:5]).get_xdata()))
    answers.append(attempt(lambda: ax.stairs([1, 2, 3]).get_data().values))
    return answers
