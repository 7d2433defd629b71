import io

import numpy as np
from PIL import Image


def main(args):
    y, x = np.mgrid[0:120, 0:160]
    a = np.dstack([127 + 100 * np.sin(x / 25), 127 + 100 * np.cos(y / 20), (x + y) * 0.9]).clip(0, 255).astype(np.uint8)
    Image.fromarray(a).save("p.jpg", quality=90, dpi=(300, 300))
    im = Image.open("p.jpg")
    small = im.resize((80, 60))
    buf = io.BytesIO()
    small.save(buf, "JPEG")
    b = np.asarray(Image.open(buf)).astype(int)
    err = np.abs(np.asarray(im).astype(int) - a.astype(int)).mean()
    bad = None
    try:
        Image.new("RGBA", (2, 2)).save("x.jpg")
    except OSError as e:
        bad = str(e)
    return {"size": im.size, "mode": im.mode, "dpi": [round(float(v)) for v in im.info["dpi"]], "err": bool(err < 3), "small": b.shape, "bad": bad, "fmt": im.format, "exif": len(im.getexif())}
