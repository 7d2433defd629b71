from PIL import Image
def main(args):
    i = Image.new("RGB", (1, 1), (100, 150, 200))
    return [i.convert(m).getpixel((0, 0)) for m in ("L", "HSV", "CMYK", "YCbCr", "I", "F", "RGBA", "1")]
