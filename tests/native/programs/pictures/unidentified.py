import io
from PIL import Image
def main(args):
    try:
        Image.open(io.BytesIO(b"not a picture"))
    except Exception as e:
        return type(e).__name__
