from PIL import Image
from pypdf import PdfReader
def main(args):
    a = Image.new("RGB", (100, 50), "red"); a.save("o.pdf", save_all=True, append_images=[a.copy()])
    return len(PdfReader("o.pdf").pages)
