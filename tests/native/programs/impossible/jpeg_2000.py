# refused: OSError: use PNG, JPEG or WebP
from PIL import Image


def main(args):
    Image.new("L", (64, 64), 90).save("scan.jp2")
    return Image.open("scan.jp2").format
