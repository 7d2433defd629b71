from PIL import Image
def main(args):
    f = [Image.new("P", (10, 10), i) for i in range(3)]
    f[0].save("a.gif", save_all=True, append_images=f[1:], duration=50, loop=0)
    i = Image.open("a.gif")
    return [i.n_frames, i.info["duration"], i.size]
