import io
import json
import zipfile

import docx
import openpyxl
import pptx
import xlwt
from markitdown import MarkItDown, StreamInfo, UnsupportedFormatException
from PIL import Image
from pptx.util import Inches
from reportlab.pdfgen import canvas


def make_files():
    word = docx.Document()
    word.add_heading("Report", 0)
    word.add_heading("Part one", 1)
    word.add_paragraph("Some ").add_run("bold").bold = True
    for item in ("first", "second"):
        word.add_paragraph(item, style="List Bullet")
    table = word.add_table(rows=2, cols=2)
    for cell, text in zip([cell for row in table.rows for cell in row.cells], ["a", "b", "1", "2"]):
        cell.text = text
    word.save("report.docx")

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Data"
    for row in (["name", "value"], ["x", 1], ["y | z", 2.5], [None, True]):
        sheet.append(row)
    book.create_sheet("Second")["B2"] = "later"
    book.save("book.xlsx")

    old = xlwt.Workbook()
    page = old.add_sheet("Old")
    for i, row in enumerate((["k", "v"], ["a", 3])):
        for j, value in enumerate(row):
            page.write(i, j, value)
    old.save("old.xls")

    slides = pptx.Presentation()
    slide = slides.slides.add_slide(slides.slide_layouts[1])
    slide.shapes.title.text = "Title"
    slide.placeholders[1].text = "Point one\nPoint two"
    slide.notes_slide.notes_text_frame.text = "a note"
    grid = slides.slides.add_slide(slides.slide_layouts[6]).shapes.add_table(2, 2, 0, 0, Inches(3), Inches(1)).table
    for i in range(4):
        grid.cell(i // 2, i % 2).text = f"c{i}"
    slides.save("slides.pptx")

    sheet = canvas.Canvas("page.pdf", invariant=1)
    sheet.drawString(100, 700, "A line of a PDF file")
    sheet.showPage()
    sheet.drawString(100, 700, "and its second page")
    sheet.save()

    texts = {
        "page.html": "<!DOCTYPE html><html><head><title>T</title></head><body><h1>Head</h1><p>A <a href='https://x.org/y'>link</a>, "
                     "<em>so</em>.</p><script>no()</script><ul><li>one<li>two</ul><table><tr><th>a</th><td>1</td></tr></table></body></html>",
        "table.csv": "name,amount\nAnna,1\n\"Berg, B.\",2\n",
        "data.json": json.dumps({"a": [1, 2], "b": "ü"}, ensure_ascii=False),
        "notes.md": "# Notes\n\n* one\n",
        "plain.txt": "Just a text, with commas, and an ä.\nAnd a line.\n",
        "feed.xml": "<?xml version='1.0'?><rss version='2.0'><channel><title>Feed</title><description>About</description><item><title>One"
                    "</title><description>&lt;p&gt;Text&lt;/p&gt;</description></item></channel></rss>",
        "book.ipynb": json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"title": "Book"}, "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Book\n", "text"]},
            {"cell_type": "code", "metadata": {}, "source": ["print(1)"], "outputs": [], "execution_count": 1}]}),
    }
    for name, text in texts.items():
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    with open("latin.txt", "wb") as file:
        file.write("Der Käse läuft über die Straße, größer als früher.\n".encode("latin-1") * 3)
    Image.new("RGB", (4, 4), "red").save("dot.png")
    with zipfile.ZipFile("all.zip", "w") as archive:
        for name in ("page.html", "table.csv", "report.docx"):
            archive.write(name)
    with zipfile.ZipFile("book.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", "<?xml version='1.0'?><container xmlns='urn:oasis:names:tc:opendocument:xmlns:container' "
                         "version='1.0'><rootfiles><rootfile full-path='c.opf' media-type='application/oebps-package+xml'/></rootfiles></container>")
        archive.writestr("c.opf", "<?xml version='1.0'?><package xmlns='http://www.idpf.org/2007/opf' xmlns:dc='http://purl.org/dc/elements/1.1/' "
                         "version='3.0'><metadata><dc:title>Book</dc:title><dc:creator>Anna</dc:creator></metadata><manifest><item id='a' "
                         "href='a.xhtml' media-type='application/xhtml+xml'/></manifest><spine><itemref idref='a'/></spine></package>")
        archive.writestr("a.xhtml", "<html xmlns='http://www.w3.org/1999/xhtml'><body><h2>Chapter</h2><p>Words.</p></body></html>")
    return ["report.docx", "book.xlsx", "old.xls", "slides.pptx", "page.pdf", *texts, "latin.txt", "dot.png", "all.zip", "book.epub"]


def main(args):
    names = make_files()
    convert = MarkItDown()
    found = {name: convert.convert(name).text_content for name in names}
    titles = [convert.convert(name).title for name in ("report.docx", "page.html", "book.ipynb")]
    # A stream has no name, so its content tells what it is.
    streams = {}
    for name in ("report.docx", "book.xlsx", "old.xls", "slides.pptx", "page.pdf", "page.html", "data.json", "plain.txt", "feed.xml",
                 "book.epub"):
        with open(name, "rb") as file:
            streams[name] = convert.convert_stream(file).text_content == found[name]
    with open("table.csv", "rb") as file:
        named = convert.convert_stream(file, stream_info=StreamInfo(extension=".csv", charset="utf-8")).text_content
    with open("odd.bin", "wb") as file:
        file.write(bytes(range(256)) * 10)
    try:
        convert.convert("odd.bin")
    except UnsupportedFormatException as error:
        refused = type(error).__name__
    return [found, titles, streams, named == found["table.csv"], refused]
