import io
from PIL import Image
def main(args):
    b = io.BytesIO(); Image.effect_noise((200, 200), 50).convert("RGB").save(b, "JPEG")
    try:
        Image.open(io.BytesIO(b.getvalue()[:2000])).load()
        return "loaded"
    except OSError as e:
        return type(e).__name__
