import numpy as np
from PIL import Image


def main(args):
    y, x = np.ogrid[-1.2:1.2:120j, -2:0.8:160j]
    c = x + 1j * y
    z = np.zeros_like(c)
    n = np.zeros(c.shape, dtype=int)
    for _ in range(40):
        m = np.abs(z) <= 2
        z[m] = z[m] ** 2 + c[m]
        n += m
    im = Image.fromarray((n * 255 // n.max()).astype(np.uint8))
    im.save("m.png")
    return {"sum": int(n.sum()), "prod": int((n.astype(int) ** 9).sum()), "max": int(n.max()), "crc": __import__("zlib").crc32(im.tobytes()), "back": Image.open("m.png").getpixel((80, 60))}
