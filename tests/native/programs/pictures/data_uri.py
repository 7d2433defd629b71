import base64, io
from PIL import Image
def main(args):
    b = io.BytesIO(); Image.new("RGB", (2, 2), "red").save(b, "PNG")
    u = "data:image/png;base64," + base64.b64encode(b.getvalue()).decode()
    return Image.open(io.BytesIO(base64.b64decode(u.split(",")[1]))).getpixel((1, 1))
