import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cm, colors


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
    answers.append(attempt(lambda: colors.to_hex("tab:blue")))
    answers.append(attempt(lambda: colors.to_rgba("steelblue", 0.5)))
    answers.append(attempt(lambda: colors.to_rgb("#abc")))
    answers.append(attempt(lambda: colors.rgb_to_hsv([0.2, 0.4, 0.6])))
    answers.append(attempt(lambda: colors.hsv_to_rgb([0.2, 0.4, 0.6])))
    answers.append(attempt(lambda: plt.get_cmap("viridis")(0.3)))
    answers.append(attempt(lambda: plt.get_cmap("viridis")([0, 128, 255])))
    answers.append(attempt(lambda: plt.get_cmap("tab10")(np.arange(3))))
    answers.append(attempt(lambda: matplotlib.colormaps["plasma"].resampled(3)(np.linspace(0, 1, 3))))
    answers.append(attempt(lambda: plt.get_cmap("viridis")(np.array([[0.1, 0.9]]), bytes=True)))
    answers.append(attempt(lambda: colors.Normalize(0, 10**10)(5 * 10**9)))
    answers.append(attempt(lambda: colors.LogNorm(1, 1000)([1, 10, 1000]).tolist()))
    answers.append(attempt(lambda: colors.SymLogNorm(1, vmin=-100, vmax=100)([-10, 0, 10]).tolist()))
    answers.append(attempt(lambda: colors.TwoSlopeNorm(0, -1, 3)([-0.5, 1.5]).tolist()))
    answers.append(attempt(lambda: colors.PowerNorm(0.5, 0, 4)([1, 4]).tolist()))
    answers.append(attempt(lambda: colors.BoundaryNorm([0, 1, 5, 10], 256)([0.5, 3, 7]).tolist()))
    answers.append(attempt(lambda: colors.LinearSegmentedColormap.from_list("mine", ["red", "#00ff00"])(0.25)))
    answers.append(attempt(lambda: colors.ListedColormap(["r", "g", "b"])(1)))
    answers.append(attempt(lambda: colors.LightSource().shade(np.arange(9.0).reshape(3, 3), plt.get_cmap("gray"))[0, 0]))
    answers.append(attempt(lambda: cm.ScalarMappable(colors.Normalize(0, 1), "jet").to_rgba([0.2, 0.8])))
    answers.append(attempt(lambda: colors.same_color("k", "black")))
    answers.append(attempt(lambda: colors.to_hex("no such colour")))
    answers.append(attempt(lambda: plt.rcParams["axes.prop_cycle"].by_key()["color"]))
    return answers
