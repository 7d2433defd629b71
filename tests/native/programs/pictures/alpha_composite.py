from PIL import Image
def main(args):
    a = Image.new("RGBA", (2, 2), (255, 0, 0, 255)); b = Image.new("RGBA", (2, 2), (0, 0, 255, 128))
    return [Image.alpha_composite(a, b).getpixel((0, 0)), Image.blend(a, b, 0.3).getpixel((1, 1))]
