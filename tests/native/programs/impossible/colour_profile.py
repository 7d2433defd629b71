# refused: ImportError: use matplotlib.colors, or calculate with numpy
from PIL import Image


def main(args):
    image = Image.new("RGB", (8, 8), (200, 30, 60))
    return image.convert("LAB").getpixel((0, 0))
