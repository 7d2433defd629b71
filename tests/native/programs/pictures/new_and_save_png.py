from PIL import Image
def main(args):
    Image.new("RGB", (20, 10), (255, 128, 0)).save("a.png")
    i = Image.open("a.png")
    return [i.size, i.mode, i.format, i.getpixel((3, 3))]
