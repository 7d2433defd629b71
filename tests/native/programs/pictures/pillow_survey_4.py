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
        pass
    for f in ['BLUR','CONTOUR','DETAIL','EDGE_ENHANCE','EDGE_ENHANCE_MORE','EMBOSS','FIND_EDGES','SHARPEN','SMOOTH','SMOOTH_MORE']:
        pass
    d = Image.new('RGB', (80,60), 'white'); D = ImageDraw.Draw(d)
    def dr(f):
        i = Image.new('RGB', (80,60), 'white'); f(ImageDraw.Draw(i)); return h(i)
    answers.append(attempt(lambda: dr(lambda d: d.chord((5,5,60,50), 20, 200, 'red'))))
    answers.append(attempt(lambda: dr(lambda d: d.rounded_rectangle((5,5,60,50), 9, 'red'))))
    answers.append(attempt(lambda: dr(lambda d: d.point([(1,1),(5,5)], 'red'))))
    answers.append(attempt(lambda: dr(lambda d: d.regular_polygon((30,30,20), 6, fill='red'))))
    answers.append(attempt(lambda: dr(lambda d: d.circle((30,30), 10, 'red'))))
    answers.append(attempt(lambda: dr(lambda d: d.line([(0,0),(30,50),(60,5)], 'red', 6, joint='curve'))))
    answers.append(attempt(lambda: dr(lambda d: d.bitmap((3,3), Image.new('1',(9,9),1), 'red'))))
    answers.append(attempt(lambda: dr(lambda d: ImageDraw.floodfill(d._image, (0,0), (1,2,3)))))
    answers.append(attempt(lambda: dr(lambda d: d.text((5,5), 'Hello', 'black', ImageFont.load_default_imagefont() if hasattr(ImageFont,'load_default_imagefont') else None))))
    answers.append(attempt(lambda: ImageDraw.Draw(im.copy()).textbbox((0,0),'Hello World')))
    answers.append(attempt(lambda: ImageDraw.Draw(im.copy()).textlength('Hello')))
    answers.append(attempt(lambda: ImageFont.load_default(20).getbbox('Ág')))
    answers.append(attempt(lambda: ImageFont.load_default(20).getmask('A').size))
    answers.append(attempt(lambda: ImageFont.load_default(20).getmetrics()))
    answers.append(attempt(lambda: ImageFont.load_default(20).getname()))
    answers.append(attempt(lambda: ImageDraw.Draw(im.copy()).multiline_textbbox((5,5),'a\nbcd',font=ImageFont.load_default(15),spacing=6,align='center')))
    answers.append(attempt(lambda: dr(lambda d: d.text((5,5), 'Hi', 'black', ImageFont.load_default(20)))))
    answers.append(attempt(lambda: dr(lambda d: d.text((40,30), 'Mid', 'red', ImageFont.load_default(14), anchor='mm'))))
    answers.append(attempt(lambda: dr(lambda d: d.multiline_text((5,5), 'ab\ncd', 'red', ImageFont.load_default(12)))))
    answers.append(attempt(lambda: rt(im, 'PNG', optimize=True)))
    answers.append(attempt(lambda: rt(im, 'PNG', compress_level=1)))
    answers.append(attempt(lambda: rt(im, 'WEBP', lossless=True)))
    answers.append(attempt(lambda: rt(im, 'PNG', dpi=(72,72))))
    answers.append(attempt(lambda: rt(im, 'GIF', save_all=True, append_images=[im.rotate(90)], duration=100, loop=0)))
    answers.append(attempt(lambda: rt(im, 'TIFF', save_all=True, append_images=[im])))
    answers.append(attempt(lambda: rt(im, 'PNG', save_all=True, append_images=[im.rotate(180)])))
    answers.append(attempt(lambda: rt(im,'ICO',sizes=[(16,16)])))
    answers.append(attempt(lambda: features.check('jpg')))
    answers.append(attempt(lambda: features.check('webp')))
    answers.append(attempt(lambda: features.check('raqm')))
    answers.append(attempt(lambda: features.check('freetype2')))
    answers.append(attempt(lambda: rt(im.convert('P'), 'PNG', transparency=0)))
    ex = Image.Exif(); ex[0x010F] = 'Maker'; ex[0x0112] = 6
    pi = PngImagePlugin.PngInfo(); pi.add_text('k','v'); pi.add_itxt('t','é')
    return answers
