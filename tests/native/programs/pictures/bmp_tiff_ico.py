import io
from PIL import Image
def main(args):
    out = []
    for f in ("BMP", "TIFF", "ICO", "PPM", "TGA"):
        b = io.BytesIO(); Image.new("RGB", (16, 16), (1, 2, 3)).save(b, f); j = Image.open(io.BytesIO(b.getvalue()))
        out.append([f, j.size, list(j.convert("RGB").getpixel((5, 5)))])
    return out
