import io
from PIL import Image
def main(args):
    try:
        Image.new("RGBA", (4, 4)).save(io.BytesIO(), "JPEG")
    except OSError as e:
        return str(e)
