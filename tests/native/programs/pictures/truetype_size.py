from PIL import Image, ImageDraw, ImageFont
def main(args):
    f = ImageFont.load_default(size=24)
    i = Image.new("L", (200, 40), 255); ImageDraw.Draw(i).text((2, 2), "Agj", font=f, fill=0)
    b = f.getbbox("Agj")
    return [15 < b[2] < 80, 10 < b[3] < 40, i.getextrema()[0] < 60]
