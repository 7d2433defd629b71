import io

from pypdf import PdfReader, PdfWriter
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle


def main(args):
    c = canvas.Canvas("a.pdf", pagesize=A4)
    for i in range(3):
        c.drawString(100, 750, f"Page {i + 1} of report")
        c.showPage()
    c.save()
    doc = SimpleDocTemplate("b.pdf")
    doc.build([Paragraph("Hello <b>World</b>", getSampleStyleSheet()["Title"]), Table([["a", 1], ["b", 2]], style=TableStyle([("GRID", (0, 0), (-1, -1), 1, colors.black)]))])
    r = PdfReader("a.pdf")
    w = PdfWriter()
    for p in reversed(r.pages):
        w.add_page(p)
    w.append("b.pdf")
    w.encrypt("secret", algorithm="RC4-128")
    w.write("c.pdf")
    e = PdfReader("c.pdf", password="secret")
    return {"n": len(r.pages), "t": [p.extract_text().strip() for p in e.pages], "enc": e.is_encrypted, "box": [float(v) for v in r.pages[0].mediabox]}
