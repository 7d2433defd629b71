import os
from PIL import Image, ImageDraw, ImageFont


def main(args):
    try:
        f = ImageFont.truetype("arial.ttf", 20)
        name = "arial"
    except OSError as e:
        f = ImageFont.load_default()
        name = str(e)
    im = Image.new("RGB", (300, 80), "white")
    d = ImageDraw.Draw(im)
    d.multiline_text((10, 10), "Hello\nWorld", fill="black", font=f, spacing=4, align="center")
    return {"name": name, "bbox": im.point(lambda v: 255 - v).getbbox() is not None}
