from PIL import Image
def main(args):
    i = Image.linear_gradient("L").convert("RGB").quantize(4)
    return [i.mode, len(i.getcolors())]
