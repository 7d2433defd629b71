import matplotlib
import matplotlib.pyplot as plt


def main(args):
    fig, ax = plt.subplots()
    ax.set_xlim(0, 3_000_000)
    ax.set_ylim(1e-9, 1e-8)
    ax.annotate(r"$\alpha_i^2 + \sqrt{\beta}$", (0.5, 0.5), xycoords="axes fraction")
    ax.set_title("Größe 数")
    fig.canvas.draw()
    bb = ax.title.get_window_extent()
    return {"x": [t.get_text() for t in ax.get_xticklabels()], "y": [t.get_text() for t in ax.get_yticklabels()], "off": ax.xaxis.get_offset_text().get_text(), "yoff": ax.yaxis.get_offset_text().get_text(), "h": round(bb.height), "w": round(bb.width), "fam": plt.rcParams["font.family"], "dpi": fig.dpi, "size": fig.get_size_inches().tolist(), "inter": plt.isinteractive(), "ver": matplotlib.__version__}
