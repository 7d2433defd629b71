from PIL import Image
def main(args):
    Image.new("RGBA", (16, 16), (10, 200, 30, 128)).save("a.webp", lossless=True)
    i = Image.open("a.webp")
    return [i.size, i.mode, i.format, i.getpixel((2, 2))]
