from PIL import Image
def main(args):
    Image.linear_gradient("L").save("g.jpeg", "JPEG", quality=95)
    i = Image.open("g.jpeg"); i.load()
    return [i.mode, i.size, abs(i.getpixel((5, 100)) - 100) < 5]
