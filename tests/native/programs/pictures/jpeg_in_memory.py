import io
from PIL import Image
def main(args):
    b = io.BytesIO(); Image.new("L", (8, 8), 77).convert("RGB").save(b, format="JPEG")
    return [b.getvalue()[:3].hex(), Image.open(io.BytesIO(b.getvalue())).size]
