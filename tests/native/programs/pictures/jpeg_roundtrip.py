from PIL import Image
def main(args):
    Image.new("RGB", (64, 48), (200, 30, 60)).save("a.jpg", quality=90)
    i = Image.open("a.jpg"); p = i.getpixel((10, 10))
    return [i.size, i.mode, i.format, all(abs(x - y) <= 4 for x, y in zip(p, (200, 30, 60)))]
