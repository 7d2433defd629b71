from PIL import Image, ImageDraw, ImageSequence


def main(args):
    frames = []
    for i in range(6):
        f = Image.new("P", (40, 40), 0)
        f.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0] + [0] * 759)
        ImageDraw.Draw(f).rectangle((i * 5, 10, i * 5 + 8, 20), fill=1 + i % 2)
        frames.append(f)
    frames[0].save("a.gif", save_all=True, append_images=frames[1:], duration=80, loop=0)
    im = Image.open("a.gif")
    return {"n": im.n_frames, "dur": im.info["duration"], "loop": im.info["loop"], "px": [fr.convert("RGB").getpixel((i * 5 + 2, 15)) for i, fr in enumerate(ImageSequence.Iterator(im))], "anim": im.is_animated}
