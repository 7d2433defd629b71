from PIL import Image, ImageDraw, ImageFont


def main(args):
    im = Image.new("L", (200, 60), 255)
    d = ImageDraw.Draw(im)
    f = ImageFont.load_default()
    d.text((5, 5), "Invoice #42", font=f, fill=0)
    big = ImageFont.load_default(24)
    box = d.textbbox((5, 25), "Total", font=big)
    d.text((5, 25), "Total", font=big, fill=0)
    return {"box": [round(v) for v in box], "len": round(d.textlength("Invoice #42", font=f)), "dark": im.getbbox() is not None, "min": im.getextrema()[0]}
