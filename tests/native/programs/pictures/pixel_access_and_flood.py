from PIL import Image, ImageDraw, ImagePalette


def main(args):
    im = Image.new("1", (8, 8))
    px = im.load()
    for i in range(8):
        px[i, i] = 1
    g = im.convert("L")
    ImageDraw.floodfill(g, (7, 0), 99)
    s = im.tobytes().hex()
    p = Image.new("P", (4, 4))
    p.putpalette([i for i in range(256) for _ in range(3)])
    p.putdata(list(range(16)))
    a = Image.new("RGBA", (4, 4), (10, 20, 30, 40))
    m = Image.merge("RGB", [Image.new("L", (2, 2), v) for v in (1, 2, 3)])
    return {"s": s, "g": list(g.getdata())[:16], "p": p.convert("RGB").getpixel((3, 3)), "sp": [b.getpixel((0, 0)) for b in a.split()], "m": m.getpixel((1, 1)), "i": Image.new("I", (1, 1), 2**31 - 1).getpixel((0, 0)), "f": Image.new("F", (1, 1), 0.5).getpixel((0, 0)), "cmyk": Image.new("RGB", (1, 1), (10, 200, 30)).convert("CMYK").getpixel((0, 0)), "ycc": Image.new("RGB", (1, 1), (10, 200, 30)).convert("YCbCr").getpixel((0, 0)), "tb": a.crop((1, 1, 3, 9)).size, "i16": Image.new("I;16", (2, 1), 65535).tobytes().hex(), "bits": sum(im.getdata()) // 255}
