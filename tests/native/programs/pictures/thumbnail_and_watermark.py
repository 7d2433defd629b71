from PIL import Image, ImageDraw, ImageFont


def main(args):
    im = Image.new("RGB", (400, 300), "navy")
    d = ImageDraw.Draw(im)
    d.rectangle([50, 50, 350, 250], fill=(200, 30, 30), outline="white", width=4)
    d.ellipse((150, 100, 250, 200), fill="#00ff00")
    t = im.copy()
    t.thumbnail((100, 100))
    mark = Image.new("RGBA", im.size, (0, 0, 0, 0))
    ImageDraw.Draw(mark).rectangle((0, 0, 60, 20), fill=(255, 255, 255, 128))
    out = Image.alpha_composite(im.convert("RGBA"), mark)
    out.save("o.png", optimize=True)
    r = Image.open("o.png")
    return {"t": t.size, "px": [r.getpixel(p) for p in ((5, 5), (60, 60), (200, 150))], "mode": r.mode, "fmt": r.format, "hist": sum(im.histogram()), "colors": sorted(im.getcolors()), "bbox": im.convert("L").getbbox(), "bands": im.getbands()}
