import matplotlib, os
from PIL import ImageFont, Image, ImageDraw
def main(args):
    p = os.path.join(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf")
    f = ImageFont.truetype(p, 20)
    i = Image.new("RGB", (150, 40), "white"); d = ImageDraw.Draw(i); d.text((5, 5), "Wide", font=f, fill="black")
    return [f.getname(), 40 < f.getlength("Wide") < 60, d.textlength("W", font=f) > d.textlength("i", font=f)]
