from PIL import Image, ImageOps
def main(args):
    i = Image.new("RGB", (300, 200), "blue"); t = i.copy(); t.thumbnail((100, 100))
    return [t.size, i.crop((10, 20, 60, 50)).size, ImageOps.fit(i, (50, 50)).size, ImageOps.pad(i, (90, 90)).size, i.rotate(90, expand=True).size, i.transpose(Image.FLIP_LEFT_RIGHT).size]
