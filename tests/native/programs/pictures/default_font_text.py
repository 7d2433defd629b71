from PIL import Image, ImageDraw
def main(args):
    i = Image.new("L", (120, 30), 255); ImageDraw.Draw(i).text((5, 5), "Hello", fill=0)
    return [i.getextrema()[0] < 100, i.getbbox() is not None]
