"""Draws a line and saves it as PNG with matplotlib."""

import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # the backend is chosen before this import


def main(args):
    figure, axes = plt.subplots()
    axes.plot(range(100), [x * x for x in range(100)], label="squares")
    axes.set_title("A line")
    axes.legend()
    image = io.BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()[1:4].decode()
