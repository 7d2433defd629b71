# refused: OSError: leave out `compression`
from PIL import Image


def main(args):
    image = Image.new("RGB", (40, 30), "navy")
    image.save("scan.tiff", compression="tiff_lzw")
    return Image.open("scan.tiff").size
