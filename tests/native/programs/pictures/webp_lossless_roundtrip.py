import numpy as np
from PIL import Image


def main(args):
    a = (np.arange(48 * 32 * 4) * 7 % 256).astype(np.uint8).reshape(32, 48, 4)
    Image.fromarray(a).save("w.webp", lossless=True, exact=True)
    r = Image.open("w.webp")
    return {"same": bool((np.asarray(r) == a).all()), "mode": r.mode, "fmt": r.format, "n": r.n_frames}
