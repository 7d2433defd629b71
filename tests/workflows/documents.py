"""The documents of the workflows, made with the libraries of this machine."""

import io
import json

import docx
import openpyxl
import pptx
from pptx.util import Inches
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen import canvas


def _saved(save):
    file = io.BytesIO()
    save(file)
    return file.getvalue()


def form():
    """A PDF with two fields for text, a check box, two radio buttons and a choice."""
    def draw(file):
        page = canvas.Canvas(file, pagesize=A4)
        fields = page.acroForm
        for name, y in (("last_name", 700), ("city", 650)):
            page.drawString(50, y + 5, name)
            fields.textfield(name=name, x=150, y=y, width=200, height=20)
        fields.checkbox(name="member", x=150, y=600, size=15)
        for value, x in (("mail", 150), ("phone", 200)):
            fields.radio(name="contact", value=value, x=x, y=550, size=15, selected=value == "phone")
        fields.choice(name="size", value="M", options=[("Small", "S"), ("Medium", "M"), ("Large", "L")], x=150, y=500, width=60, height=20)
        page.showPage()
        page.save()

    return _saved(draw)


def flat_form():
    """A PDF with drawn lines and labels, and without fields."""
    def draw(file):
        page = canvas.Canvas(file, pagesize=A4)
        page.drawString(50, 705, "Name")
        page.line(40, 690, 555, 690)
        page.drawString(50, 665, "Member")
        page.rect(150, 663, 10, 10)
        page.line(40, 650, 555, 650)
        page.showPage()
        page.save()

    return _saved(draw)


def page_picture():
    """A picture of the size that a page of `flat_form` has in pixels."""
    return _saved(lambda file: Image.new("RGB", (595, 842), "white").save(file, "PNG"))


def report():
    """A Word document with a heading, paragraphs, a table and a picture."""
    document = docx.Document()
    document.add_heading("Quarterly report", 1)
    paragraph = document.add_paragraph("Revenue was ")
    paragraph.add_run("ten million").bold = True
    paragraph.add_run(" euros.")
    document.add_paragraph("Costs fell by two percent.")
    table = document.add_table(rows=2, cols=2)
    for row, texts in enumerate((("Region", "Sum"), ("North", "12"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    document.add_picture(io.BytesIO(page_picture()), width=docx.shared.Inches(1))
    return _saved(document.save)


def deck():
    """Three slides: a title, two with points, and a picture on the last one."""
    slides = pptx.Presentation()
    title = slides.slides.add_slide(slides.slide_layouts[0])
    title.shapes.title.text, title.placeholders[1].text = "TITLE", "SUBTITLE"
    for name in ("First points", "Second points"):
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = name, f"{name}: a point"
    slide.shapes.add_picture(io.BytesIO(page_picture()), Inches(6), Inches(4), width=Inches(1))
    return _saved(slides.save)


def workbook():
    """Two sheets; formulas within one and from one to the other."""
    book = openpyxl.Workbook()
    sales = book.active
    sales.title = "Sales"
    for row in (("Region", "Sum"), ("North", 12), ("South", 30)):
        sales.append(row)
    sales["B4"] = "=SUM(B2:B3)"
    total = book.create_sheet("Total")
    total["A1"] = "=Sales!B4*2"
    return _saved(book.save)


def boxes():
    """The places of the texts of `flat_form`, as the skill for PDF files has them."""
    entry = {
        "page_number": 1,
        "description": "name",
        "field_label": "Name",
        "label_bounding_box": [50, 125, 90, 140],
        "entry_bounding_box": [150, 120, 400, 145],
        "entry_text": {"text": "Ada", "font_size": 12},
    }
    pages = [{"page_number": 1, "pdf_width": 595, "pdf_height": 842}]
    return json.dumps({"pages": pages, "form_fields": [entry]}).encode()


def values():
    """A value for a field of `form`."""
    return json.dumps([{"field_id": "city", "description": "city", "page": 1, "value": "Rome"}]).encode()
