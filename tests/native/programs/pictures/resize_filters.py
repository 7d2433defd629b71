from PIL import Image
def main(args):
    i = Image.linear_gradient("L")
    return [i.resize((4, 4), m).tobytes().hex() for m in (Image.NEAREST, Image.BILINEAR, Image.BICUBIC, Image.LANCZOS)]
