from PIL import Image, ImageStat, ImageChops
def main(args):
    a = Image.linear_gradient("L"); b = a.rotate(180)
    return [ImageStat.Stat(a).mean, a.histogram()[:3], ImageStat.Stat(ImageChops.difference(a, b)).extrema]
