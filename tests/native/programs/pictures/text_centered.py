from PIL import Image, ImageDraw, ImageFont
def main(args):
    i = Image.new("RGB", (200, 60), "white"); d = ImageDraw.Draw(i); f = ImageFont.load_default(20)
    l, t, r, b = d.textbbox((0, 0), "Center", font=f)
    d.text(((200 - (r - l)) / 2, (60 - (b - t)) / 2), "Center", font=f, fill="navy")
    x = [p[0] for p in enumerate(i.convert("L").resize((200, 1)).getdata()) if p[1] < 250]
    return [abs((x[0] + x[-1]) / 2 - 100) < 8]
