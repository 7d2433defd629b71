"""Documents: spreadsheets, PDF, YAML, templates."""

import io

import jinja2
import openpyxl
import pandas
import pypdf
import reportlab.lib.pagesizes
import reportlab.pdfgen.canvas
import reportlab.platypus
import tabulate
import xlsxwriter
import yaml


def use_spreadsheets():
    """Writes and reads a workbook in each way."""
    book = openpyxl.Workbook()
    book.active.append(["a", 1])
    book.active["A1"].font = openpyxl.styles.Font(bold=True)
    file = io.BytesIO()
    book.save(file)
    file.seek(0)
    openpyxl.load_workbook(file).active["A1"].value
    table = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    for engine in ("openpyxl", "xlsxwriter"):
        file = io.BytesIO()
        table.to_excel(file, index=False, engine=engine)
        file.seek(0)
        pandas.read_excel(file)
    tabulate.tabulate(table, headers="keys")


def use_pdf():
    """Writes a page and reads its text."""
    file = io.BytesIO()
    canvas = reportlab.pdfgen.canvas.Canvas(file, pagesize=reportlab.lib.pagesizes.A4)
    canvas.drawString(72, 720, "Hello")
    canvas.showPage()
    canvas.save()
    file.seek(0)
    pypdf.PdfReader(file).pages[0].extract_text()


def use_texts():
    """Reads and writes YAML, fills a template."""
    yaml.safe_load(yaml.safe_dump({"a": [1, "x", None]}))
    jinja2.Template("{% for x in xs %}{{ x|upper }}{% endfor %}").render(xs=["a"])


use_spreadsheets()
use_pdf()
use_texts()
