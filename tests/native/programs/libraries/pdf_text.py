import io

import pdfplumber
from pdfminer.high_level import extract_pages, extract_text
from pdfminer.layout import LAParams, LTTextContainer
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table


def report():
    rows = [["Item", "Count", "Price"], ["Apple", "3", "1.20"], ["Pear", "10", "0.85"], ["Plum & Co", "7", ""]]
    table = Table(rows, style=[("GRID", (0, 0), (-1, -1), 1, colors.black), ("BACKGROUND", (0, 0), (-1, 0), colors.yellow)])
    styles = getSampleStyleSheet()
    parts = [Paragraph("Quarterly Report", styles["Title"]), Paragraph("Fruit was <b>sold</b> well. " * 12, styles["Normal"]),
             table, PageBreak(), Paragraph("Second page: Größe, naïve, “quotes”", styles["Normal"])]
    file = io.BytesIO()
    SimpleDocTemplate(file, pagesize=A4, title="Fruit", author="A. Author", invariant=1).build(parts)
    file.seek(0)
    return file


def drawing():
    file = io.BytesIO()
    page = canvas.Canvas(file, pagesize=(300, 200), invariant=1)
    page.setFont("Times-Italic", 14)
    page.drawString(20, 150, "left")
    page.drawRightString(280, 150, "right")
    page.rect(30, 30, 50, 40, fill=1)
    page.line(10, 10, 290, 10)
    page.circle(200, 60, 20)
    page.linkURL("https://example.org/", (20, 150, 60, 165))
    page.save()
    file.seek(0)
    return file


def main(args):
    found = []
    with pdfplumber.open(report()) as pdf:
        first = pdf.pages[0]
        found += [len(pdf.pages), pdf.metadata["Title"], pdf.metadata["Author"], first.extract_text(),
                  first.extract_text(layout=True)[:2000], first.extract_table(), pdf.pages[1].extract_text(),
                  [word["text"] for word in first.extract_words()][:12], [float(side) for side in first.bbox],
                  first.find_tables()[0].bbox, len(first.rects), len(first.lines), len(first.chars)]
        top = first.crop((0, 0, first.width, 120))
        found += [top.extract_text(), [hit["text"] for hit in first.search(r"so\w+")][:2],
                  first.filter(lambda one: one.get("size", 0) > 15).extract_text()]
        lines = {"vertical_strategy": "text", "horizontal_strategy": "lines"}
        found.append(first.extract_table(lines))
    with pdfplumber.open(drawing()) as pdf:
        page = pdf.pages[0]
        found += [[(word["text"], word["x0"], word["top"]) for word in page.extract_words(extra_attrs=["fontname"])],
                  [(one["x0"], one["width"], one["height"], one["fill"]) for one in page.rects], len(page.curves),
                  page.hyperlinks[0]["uri"], page.chars[0]["fontname"], len(page.to_json()) > 1000]
    with open("report.pdf", "wb") as file:
        file.write(report().getvalue())
    boxes = [[round(side, 3) for side in element.bbox] for page in extract_pages("report.pdf")
             for element in page if isinstance(element, LTTextContainer)]
    found += [extract_text("report.pdf"), extract_text("report.pdf", page_numbers=[1], laparams=LAParams(boxes_flow=None)), boxes]
    try:
        pdfplumber.open(io.BytesIO(b"no PDF"))
    except Exception as error:
        found.append(type(error).__name__)
    return found
