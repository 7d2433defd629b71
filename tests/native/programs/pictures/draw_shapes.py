from PIL import Image, ImageDraw
def main(args):
    i = Image.new("RGB", (40, 40), "white"); d = ImageDraw.Draw(i)
    d.rectangle((5, 5, 15, 15), fill="red"); d.ellipse((20, 20, 35, 35), outline="black", width=2); d.line((0, 0, 39, 39), fill=(0, 0, 255)); d.polygon([(1, 38), (8, 30), (15, 38)], fill="green")
    import hashlib
    return [hashlib.sha256(i.tobytes()).hexdigest(), sorted(i.getcolors())]
