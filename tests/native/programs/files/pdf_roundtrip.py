from reportlab.pdfgen import canvas
from pypdf import PdfReader, PdfWriter
def main(args):
    c = canvas.Canvas("a.pdf"); c.drawString(100, 700, "Hello PDF 123"); c.showPage(); c.drawString(100, 700, "Page two"); c.save()
    w = PdfWriter(); w.append("a.pdf", pages=(1, 2)); w.write("b.pdf")
    r = PdfReader("a.pdf")
    return [len(r.pages), r.pages[0].extract_text().strip(), PdfReader("b.pdf").pages[0].extract_text().strip()]
