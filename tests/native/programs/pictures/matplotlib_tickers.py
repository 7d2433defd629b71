import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import ticker


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
    answers.append(attempt(lambda: ticker.MaxNLocator(5).tick_values(0, 10**10)))
    answers.append(attempt(lambda: ticker.MultipleLocator(2.5).tick_values(0, 10)))
    answers.append(attempt(lambda: ticker.LogLocator().tick_values(1, 10**12)))
    answers.append(attempt(lambda: ticker.AutoLocator().tick_values(-0.37, 1.22)))
    answers.append(attempt(lambda: ticker.SymmetricalLogLocator(base=10, linthresh=1).tick_values(-100, 100)))
    answers.append(attempt(lambda: ticker.LinearLocator(4).tick_values(0, 1)))
    answers.append(attempt(lambda: ticker.FixedLocator([1, 2]).tick_values(0, 5)))
    answers.append(attempt(lambda: ticker.PercentFormatter(1).format_pct(0.256, 1)))
    answers.append(attempt(lambda: ticker.PercentFormatter(xmax=10**10).format_pct(5 * 10**9, 10**10)))
    answers.append(attempt(lambda: ticker.EngFormatter("Hz")(12_500_000_000)))
    answers.append(attempt(lambda: ticker.StrMethodFormatter("{x:,.0f}")(12_500_000_000)))
    answers.append(attempt(lambda: ticker.FormatStrFormatter("%d")(2**40)))
    answers.append(attempt(lambda: ticker.FuncFormatter(lambda value, position: f"{value / 1e6}M")(3e6)))
    answers.append(attempt(lambda: ticker.LogFormatterSciNotation()(1000)))
    answers.append(attempt(lambda: ticker.LogFormatterMathtext()(10**12)))
    answers.append(attempt(lambda: ticker.ScalarFormatter(useMathText=True).format_data(123456789012)))
    answers.append(attempt(lambda: ticker.LogitLocator().tick_values(0.01, 0.99)))
    return answers
