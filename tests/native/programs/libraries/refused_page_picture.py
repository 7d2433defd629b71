# refused: NotImplementedError: pages cannot be drawn here: extract_text(), extract_tables()
import io

import pdfplumber
from reportlab.pdfgen import canvas

file = io.BytesIO()
page = canvas.Canvas(file)
page.drawString(100, 700, "text")
page.save()
with pdfplumber.open(file) as pdf:
    pdf.pages[0].to_image(resolution=150)
