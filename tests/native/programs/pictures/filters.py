from PIL import Image, ImageFilter, ImageEnhance
def main(args):
    i = Image.radial_gradient("L").resize((8, 8))
    return [i.filter(ImageFilter.BoxBlur(1)).tobytes().hex()[:32], i.filter(ImageFilter.FIND_EDGES).getextrema(), ImageEnhance.Brightness(i).enhance(0.5).getpixel((4, 4)), i.filter(ImageFilter.GaussianBlur(2)).size]
