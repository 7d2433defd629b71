import numpy as np
from PIL import Image, ImageChops, ImageEnhance, ImageFilter, ImageOps, ImageStat


def main(args):
    y, x = np.mgrid[0:64, 0:64]
    a = np.dstack([x * 4, y * 4, (x + y) * 2]).astype(np.uint8)
    im = Image.fromarray(a)
    g = ImageOps.grayscale(im)
    st = ImageStat.Stat(im)
    b = np.asarray(im.filter(ImageFilter.GaussianBlur(2)))
    e = np.asarray(g.filter(ImageFilter.FIND_EDGES))
    return {"mean": st.mean, "sd": [round(v, 6) for v in st.stddev], "sum": int(a.sum()), "sq": int((a.astype(int) ** 4).sum()), "blur": int(b.astype(int).sum()), "edge": int(e.sum()), "inv": np.asarray(ImageOps.invert(g))[0, :3].tolist(), "auto": ImageOps.autocontrast(g).getextrema(), "eq": int(np.asarray(ImageOps.equalize(g)).sum()), "br": int(np.asarray(ImageEnhance.Brightness(im).enhance(1.5)).sum()), "diff": ImageChops.difference(im, im.transpose(Image.Transpose.FLIP_LEFT_RIGHT)).getbbox(), "rot": im.rotate(90, expand=True).size, "q": len(im.quantize(16).getcolors()), "hsv": im.convert("HSV").getpixel((10, 20)), "res": im.resize((7, 5), Image.Resampling.LANCZOS).getpixel((3, 2)), "p": ImageOps.posterize(im, 2).getpixel((33, 44)), "pt": g.point(lambda v: 255 if v > 100 else 0).histogram()[255]}
