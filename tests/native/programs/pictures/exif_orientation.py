import io
from PIL import Image, ImageOps
def main(args):
    i = Image.new("RGB", (30, 10)); e = i.getexif(); e[0x0112] = 6; e[0x010E] = "desc"
    b = io.BytesIO(); i.save(b, "PNG", exif=e)
    j = Image.open(io.BytesIO(b.getvalue()))
    return [dict(j.getexif()), ImageOps.exif_transpose(j).size]
