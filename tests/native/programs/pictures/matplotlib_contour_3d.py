import matplotlib.pyplot as plt
import numpy as np


def main(args):
    x = np.linspace(-3, 3, 30)
    X, Y = np.meshgrid(x, x)
    Z = np.exp(-X**2 - Y**2)
    fig = plt.figure()
    ax = fig.add_subplot(121, projection="3d")
    ax.plot_surface(X, Y, Z, cmap="coolwarm")
    ax2 = fig.add_subplot(122)
    cs = ax2.contourf(X, Y, Z, levels=5)
    fig.colorbar(cs)
    fig.savefig("s.png", dpi=60)
    fig.canvas.draw()
    buf = np.asarray(fig.canvas.buffer_rgba())
    cm = plt.get_cmap("viridis")
    return {"lv": cs.levels.tolist(), "shape": buf.shape, "cm": [round(v, 6) for v in cm(0.3)], "ang": [ax.elev, ax.azim], "prop": plt.rcParams["axes.prop_cycle"].by_key()["color"][:2], "z": [round(v, 6) for v in ax.get_zlim()]}
