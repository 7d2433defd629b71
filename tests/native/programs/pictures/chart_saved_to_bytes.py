import base64
import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image


def main(args):
    fig, axes = plt.subplots(2, 2, figsize=(6, 4), dpi=80)
    x = np.linspace(0, 6, 50)
    axes[0, 0].plot(x, np.sin(x), label="sin")
    axes[0, 0].legend()
    axes[0, 1].bar(["a", "b"], [3, 5])
    axes[1, 0].scatter(x, x**2, c=x, cmap="viridis")
    axes[1, 1].pie([1, 2, 3], labels=list("xyz"), autopct="%1.0f%%")
    fig.suptitle("Dash")
    fig.tight_layout()
    buf = io.BytesIO()
    fig.savefig(buf, format="png")
    b64 = base64.b64encode(buf.getvalue()).decode()
    im = Image.open(buf)
    svg = io.StringIO()
    fig.savefig(svg, format="svg")
    pdf = io.BytesIO()
    fig.savefig(pdf, format="pdf")
    return {"size": im.size, "mode": im.mode, "b64": b64[:12], "svg": svg.getvalue().startswith("<?xml"), "pdf": pdf.getvalue()[:5].decode(), "ticks": [t.get_text() for t in axes[0, 1].get_xticklabels()], "yt": axes[0, 0].get_yticks().round(3).tolist(), "figs": plt.get_fignums()}
