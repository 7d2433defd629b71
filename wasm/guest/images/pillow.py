"""Pictures: Pillow reading, changing and writing the common formats."""

import io

from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps


def use_pillow():
    """Draws a picture and takes it through the common formats."""
    picture = Image.new("RGB", (32, 32), "white")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((4, 4, 20, 20), fill="red", outline="black")
    draw.text((2, 2), "text", fill="black", font=ImageFont.load_default())
    picture = ImageOps.autocontrast(picture.resize((16, 16)).filter(ImageFilter.BLUR))
    ImageEnhance.Contrast(picture).enhance(1.5).rotate(90).convert("L")
    for kind in ("PNG", "GIF", "BMP", "TIFF", "JPEG", "WEBP"):
        file = io.BytesIO()
        picture.save(file, kind)
        file.seek(0)
        Image.open(file).load()


use_pillow()
