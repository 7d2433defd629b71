import io, hashlib, numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageFilter, ImageOps, ImageEnhance, ImageChops, ImageStat, ImageColor, ImageSequence, ImagePalette, ImageMath, ImageMorph, ImageTransform, PngImagePlugin, ExifTags, ImageGrab, ImageCms, features


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    g = np.add.outer(np.arange(40), np.arange(60)); rgb = np.stack([g*2 % 256, g*3 % 256, g*5 % 256], 2).astype(np.uint8)
    im = Image.fromarray(rgb); gr = im.convert('L')
    def h(i): return [i.mode, i.size, hashlib.md5(i.tobytes()).hexdigest()]
    def rt(i, f, **k):
        b = io.BytesIO(); i.save(b, f, **k); b.seek(0); o = Image.open(b); return [o.format, h(o), sorted(str(q) for q in o.info)]
    for m in ['1','L','P','RGB','RGBA','CMYK','YCbCr','LAB','HSV','I','F','LA','PA','I;16','RGBX','La','RGBa']:
        pass
        for f in ['PNG','BMP','GIF','TIFF','PPM','TGA','ICO','PCX','SGI','DDS','IM','MSP','XBM','SPIDER','EPS','ICNS','QOI','MPO','BLP','PALM','DIB']:
            pass
    for r in [Image.NEAREST, Image.BOX, Image.BILINEAR, Image.HAMMING, Image.BICUBIC, Image.LANCZOS]:
        answers.append(attempt(lambda: h(im.resize((23,17), r))))
        pass
    for f in ['BLUR','CONTOUR','DETAIL','EDGE_ENHANCE','EDGE_ENHANCE_MORE','EMBOSS','FIND_EDGES','SHARPEN','SMOOTH','SMOOTH_MORE']:
        pass
    d = Image.new('RGB', (80,60), 'white'); D = ImageDraw.Draw(d)
    def dr(f):
        i = Image.new('RGB', (80,60), 'white'); f(ImageDraw.Draw(i)); return h(i)
    ex = Image.Exif(); ex[0x010F] = 'Maker'; ex[0x0112] = 6
    pi = PngImagePlugin.PngInfo(); pi.add_text('k','v'); pi.add_itxt('t','é')
    return answers
