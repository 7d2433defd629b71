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
    x, y = np.meshgrid(np.linspace(-2, 2, 9), np.linspace(-1, 1, 7))
    z = x**2 - y
    fig, ax = plt.subplots()
    answers.append(attempt(lambda: ax.contour(x, y, z).levels))
    answers.append(attempt(lambda: ax.contourf(x, y, z, 4).levels))
    answers.append(attempt(lambda: [len(path.vertices) for path in ax.contour(x, y, z, [1, 2]).get_paths()]))
    answers.append(attempt(lambda: ax.contour(x, y, z, [1]).get_paths()[0].vertices[:4]))
    answers.append(attempt(lambda: ax.imshow(z).get_extent()))
    answers.append(attempt(lambda: ax.imshow(z).get_clim()))
    answers.append(attempt(lambda: ax.imshow(z).get_array()[0].tolist()))
    answers.append(attempt(lambda: ax.pcolormesh(x, y, z).get_array().shape))
    answers.append(attempt(lambda: ax.pcolormesh(x, y, z, shading="nearest").get_coordinates()[0, 0]))
    answers.append(attempt(lambda: fig.colorbar(ax.imshow(z)).get_ticks()))
    answers.append(attempt(lambda: ax.quiver(x, y, x, y).N))
    answers.append(attempt(lambda: len(ax.streamplot(x, y, x, y).lines.get_segments())))
    answers.append(attempt(lambda: ax.matshow(z).get_extent()))
    answers.append(attempt(lambda: ax.tripcolor([0, 1, 0, 1], [0, 0, 1, 1], [1, 2, 3, 4]).get_array().tolist()))
    answers.append(attempt(lambda: matplotlib.tri.Triangulation([0, 1, 0, 1], [0, 0, 1, 1]).triangles))
    answers.append(attempt(lambda: matplotlib.tri.LinearTriInterpolator(matplotlib.tri.Triangulation([0, 1, 0, 1], [0, 0, 1, 1]), [1, 2, 3, 4])(0.25, 0.25).item()))
    answers.append(attempt(lambda: ax.spy(np.eye(3)).get_array().tolist()))
    answers.append(attempt(lambda: matplotlib.mlab.psd(np.sin(np.arange(64.0)), NFFT=16)[0][:3]))
    answers.append(attempt(lambda: plt.specgram(np.sin(np.arange(300.0)))[0].shape))
    answers.append(attempt(lambda: plt.cohere(np.sin(np.arange(300.0)), np.cos(np.arange(300.0)), NFFT=64)[0][:3].round(6)))
    answers.append(attempt(lambda: plt.acorr(np.sin(np.arange(30.0)), maxlags=3)[1]))
    return answers
