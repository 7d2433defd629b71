"""The workflows of the skills for documents, each from its first call to a file that a library of this machine reads."""

import io
import json
import re
import zipfile

import docx
import openpyxl
import pptx
import pypdf
from PIL import Image

import documents
from sandbox import Sandbox, expect


async def fill_form(sandbox: Sandbox):
    """A PDF form is found, described, filled and read."""
    await sandbox.upload("form.pdf", documents.form())
    told = await sandbox.good("scripts/check_fillable_fields.py", "form.pdf")
    expect("has fillable form fields" in told, told)
    await sandbox.good("scripts/extract_form_field_info.py", "form.pdf", "fields.json")
    fields = json.loads(await sandbox.download("fields.json"))
    kinds = {field["field_id"]: field["type"] for field in fields}
    expected = {"last_name": "text", "city": "text", "member": "checkbox", "contact": "radio_group", "size": "choice"}
    expect(kinds == expected, kinds)
    by_name = {field["field_id"]: field for field in fields}
    values = {
        "last_name": "Lovelace",
        "city": "Zürich",
        "member": by_name["member"]["checked_value"],
        "contact": by_name["contact"]["radio_options"][0]["value"],
        "size": "L",
    }
    filled = [
        {"field_id": name, "description": name, "page": 1, "value": value} for name, value in values.items()
    ]
    await sandbox.write("values.json", json.dumps(filled))
    await sandbox.good("scripts/fill_fillable_fields.py", "form.pdf", "values.json", "filled.pdf")
    read = pypdf.PdfReader(io.BytesIO(await sandbox.download("filled.pdf"))).get_fields()
    expect({name: read[name].value for name in values} == values, read)
    wrong = json.dumps([{"field_id": "no_such", "page": 1, "value": "x"}])
    await sandbox.write("wrong.json", wrong)
    refused = await sandbox.script("scripts/fill_fillable_fields.py", "form.pdf", "wrong.json", "wrong.pdf")
    expect(refused["exit_code"] == 1 and "`no_such` is not a valid field ID" in refused["stdout"], refused)


async def annotate_form(sandbox: Sandbox):
    """A PDF without fields gets texts at places, which are checked and drawn on a picture first."""
    await sandbox.upload("flat.pdf", documents.flat_form())
    await sandbox.upload("page.png", documents.page_picture())
    told = await sandbox.good("scripts/check_fillable_fields.py", "flat.pdf")
    expect("does not have fillable form fields" in told, told)
    found = await sandbox.script("scripts/extract_form_structure.py", "flat.pdf", "structure.json")
    if found["exit_code"] == 0:
        structure = json.loads(await sandbox.download("structure.json"))
        expect([label["text"] for label in structure["labels"]] == ["Name", "Member"], structure)
        expect(len(structure["lines"]) == 2 and len(structure["checkboxes"]) == 1, structure)
    else:
        expect("No module named 'pdfplumber'" in found["stderr"], found)
    await sandbox.write("fields.json", documents.boxes().decode())
    told = await sandbox.good("scripts/check_bounding_boxes.py", "fields.json")
    expect("SUCCESS" in told, told)
    told = await sandbox.good("scripts/create_validation_image.py", "1", "fields.json", "page.png", "boxes.png")
    expect("with 2 bounding boxes" in told, told)
    picture = Image.open(io.BytesIO(await sandbox.download("boxes.png"))).convert("RGB")
    expect(picture.getpixel((150, 130)) == (255, 0, 0), picture.getpixel((150, 130)))
    await sandbox.good("scripts/fill_pdf_form_with_annotations.py", "flat.pdf", "fields.json", "annotated.pdf")
    page = pypdf.PdfReader(io.BytesIO(await sandbox.download("annotated.pdf"))).pages[0]
    texts = [note.get_object()["/Contents"] for note in page["/Annots"]]
    expect(texts == ["Ada"], texts)


_TRACKED = (
    '<w:del w:id="901" w:author="Claude" w:date="2026-01-01T00:00:00Z"><w:r><w:delText>two</w:delText></w:r></w:del>'
    '<w:ins w:id="902" w:author="Claude" w:date="2026-01-01T00:00:00Z"><w:r><w:t>three</w:t></w:r></w:ins>'
)

_EDIT = f"""
import pathlib, re
path = pathlib.Path("unpacked/word/document.xml")
text = path.read_text(encoding="utf-8")
before = re.search(r"<w:r>\\s*<w:t>Costs fell by two percent.</w:t>\\s*</w:r>", text).group()
after = (
    '<w:commentRangeStart w:id="0"/><w:commentRangeStart w:id="1"/>'
    '<w:r><w:t xml:space="preserve">Costs fell by </w:t></w:r>'
    {_TRACKED!r}
    '<w:r><w:t xml:space="preserve"> percent.</w:t></w:r>'
    '<w:commentRangeEnd w:id="1"/><w:commentRangeEnd w:id="0"/>'
    '<w:r><w:rPr><w:rStyle w:val="CommentReference"/></w:rPr><w:commentReference w:id="0"/></w:r>'
    '<w:r><w:rPr><w:rStyle w:val="CommentReference"/></w:rPr><w:commentReference w:id="1"/></w:r>'
)
path.write_text(text.replace(before, after), encoding="utf-8")
text.count(before)
"""


async def edit_document(sandbox: Sandbox):
    """A Word document is unpacked, edited with tracked changes and comments, packed, validated and read."""
    await sandbox.upload("document.docx", documents.report())
    told = await sandbox.good("scripts/office/unpack.py", "document.docx", "unpacked/")
    expect(re.search(r"Unpacked document.docx \(\d+ XML files\)", told), told)
    expect(await sandbox.code(_EDIT) == 1, "the paragraph is not as it was")
    first = ("scripts/comment.py", "unpacked/", "0", "Is &#x201C;three&#x201D; right &amp; final?")
    expect("Added comment 0" in await sandbox.good(*first), first)
    reply = ("scripts/comment.py", "unpacked/", "1", "Yes", "--parent", "0", "--author", "Ada")
    expect("Added reply 1" in await sandbox.good(*reply), reply)
    pack = ("scripts/office/pack.py", "unpacked/", "output.docx", "--original", "document.docx")
    told = await sandbox.good(*pack)
    expect("All validations PASSED!" in told and "Successfully packed" in told, told)
    content = await sandbox.download("output.docx")
    document = docx.Document(io.BytesIO(content))
    expect(document.paragraphs[0].text == "Quarterly report", document.paragraphs[0].text)
    expect(document.paragraphs[1].text == "Revenue was ten million euros.", document.paragraphs[1].text)
    expect(document.tables[0].cell(1, 1).text == "12" and len(document.inline_shapes) == 1, "tables, pictures")
    comments = [(comment.author, comment.text) for comment in document.comments]
    expect(comments == [("Claude", "Is “three” right & final?"), ("Ada", "Yes")], comments)
    edited = zipfile.ZipFile(io.BytesIO(content)).read("word/document.xml").decode()
    expect(edited.count("<w:ins ") == edited.count("<w:del ") == 1, edited)
    told = await sandbox.good("scripts/office/validate.py", "output.docx", "--original", "document.docx", "-v")
    expect("All validations PASSED!" in told, told)
    await sandbox.code(
        "text = open('unpacked/word/document.xml').read()\n"
        "_ = open('unpacked/word/document.xml', 'w').write(text.replace('<w:body>', '<w:body><w:nothing/>'))"
    )
    refused = await sandbox.script(*pack)
    expect(refused["exit_code"] == 1 and "nothing" in refused["stdout"], refused)


_ORDER = """
import pathlib, re
presentation = pathlib.Path("unpacked/ppt/presentation.xml")
text = presentation.read_text(encoding="utf-8")
ids = re.findall(r"<p:sldId [^>]*/>", text)
added = {added!r}
# The title, the copy, the empty slide, and the last one: the second is left out.
order = [ids[0], *added, ids[2]]
listed = re.search(r"<p:sldIdLst>.*</p:sldIdLst>", text, re.S).group()
presentation.write_text(text.replace(listed, "<p:sldIdLst>" + "".join(order) + "</p:sldIdLst>"), encoding="utf-8")
for name, before, after in (
    ("slide1", "TITLE", "Harbour plan"), ("slide1", "SUBTITLE", "2026"), ("slide4", "First points", "Copied points")
):
    slide = pathlib.Path(f"unpacked/ppt/slides/{{name}}.xml")
    slide.write_text(slide.read_text(encoding="utf-8").replace(f">{{before}}", f">{{after}}"), encoding="utf-8")
len(ids)
"""


async def build_deck(sandbox: Sandbox):
    """A deck is built from a template: slides are copied, added, ordered, filled and left out."""
    await sandbox.upload("template.pptx", documents.deck())
    await sandbox.good("scripts/office/unpack.py", "template.pptx", "unpacked/")
    added = []
    for source in ("slide2.xml", "slideLayout6.xml"):
        told = await sandbox.good("scripts/add_slide.py", "unpacked/", source)
        # The numbers of slides that are not listed yet do not count for the next one.
        entry = re.search(r'<p:sldId id="(\d+)" r:id="(rId\d+)"/>', told)
        added.append(f'<p:sldId id="{int(entry[1]) + len(added)}" r:id="{entry[2]}"/>')
    expect(await sandbox.code(_ORDER.format(added=added)) == 3, "slides of the template")
    told = await sandbox.good("scripts/clean.py", "unpacked/")
    expect("slides/slide2.xml" in told and "slide3" not in told, told)
    pack = ("scripts/office/pack.py", "unpacked/", "output.pptx", "--original", "template.pptx")
    told = await sandbox.good(*pack)
    expect("All validations PASSED!" in told, told)
    deck = pptx.Presentation(io.BytesIO(await sandbox.download("output.pptx")))
    titles = [slide.shapes.title.text if slide.shapes.title else None for slide in deck.slides]
    expect(titles == ["Harbour plan", "Copied points", None, "Second points"], titles)
    expect(deck.slides[0].placeholders[1].text == "2026", deck.slides[0].placeholders[1].text)
    pictures = [shape for shape in deck.slides[3].shapes if shape.shape_type == 13]
    expect(len(pictures) == 1 and pictures[0].image.size == (595, 842), pictures)
    told = await sandbox.good("scripts/office/validate.py", "output.pptx", "--original", "template.pptx")
    expect("PASSED" in told, told)


async def edit_workbook(sandbox: Sandbox):
    """A workbook is edited, unpacked and packed with its formulas; what a recalculation gives is computed from them."""
    await sandbox.upload("input.xlsx", documents.workbook())
    await sandbox.code(
        "import openpyxl\nbook = openpyxl.load_workbook('input.xlsx')\nsheet = book['Sales']\n"
        "sheet['B2'] = 20\nsheet['C1'] = 'Share'\n"
        "for row in (2, 3):\n    sheet[f'C{row}'] = f'=B{row}/$B$4'\nbook.save('edited.xlsx')"
    )
    await sandbox.good("scripts/office/unpack.py", "edited.xlsx", "unpacked/")
    told = await sandbox.code(
        "import pathlib\npath = pathlib.Path('unpacked/xl/workbook.xml')\n"
        "text = path.read_text()\npath.write_text(text.replace('name=\"Total\"', 'name=\"Sum\"'))\ntext.count('\"Total\"')"
    )
    expect(told == 1, told)
    await sandbox.good("scripts/office/pack.py", "unpacked/", "output.xlsx", "--original", "edited.xlsx")
    book = openpyxl.load_workbook(io.BytesIO(await sandbox.download("output.xlsx")))
    expect(book.sheetnames == ["Sales", "Sum"] and book["Sales"]["B2"].value == 20, book.sheetnames)
    formulas = [book["Sales"]["B4"].value, book["Sales"]["C3"].value, book["Sum"]["A1"].value]
    expect(formulas == ["=SUM(B2:B3)", "=B3/$B$4", "=Sales!B4*2"], formulas)
    value = await sandbox.code(
        "import pandas as pd\ntable = pd.read_excel('output.xlsx', sheet_name='Sales', nrows=2)\nint(table['Sum'].sum())"
    )
    expect(value == 50, value)
    recalculated = await sandbox.script("scripts/recalc.py", "output.xlsx", "30")
    expect(recalculated["exit_code"] == 1 and "no office program" in recalculated["stderr"], recalculated)


_GIF = """
import math, sys
sys.path.insert(0, "/skills/slack-gif-creator")
from core.easing import interpolate
from core.frame_composer import create_gradient_background, draw_circle, draw_star, draw_text
from core.gif_builder import GIFBuilder
from core.validators import is_slack_ready, validate_gif
builder = GIFBuilder(width=128, height=128, fps=10)
for i in range(12):
    frame = create_gradient_background(128, 128, (240, 248, 255), (90, 140, 220))
    y = interpolate(start=20, end=100, t=i / 11, easing="bounce_out")
    draw_circle(frame, (64, int(y)), 14, fill_color=(250, 120, 40))
    draw_star(frame, (24, 24), 10, fill_color=(255, 220, 0))
    builder.add_frame(frame)
info = builder.save("ball.gif", num_colors=48, optimize_for_emoji=True)
passes, _ = validate_gif("ball.gif", is_emoji=True)
[bool(passes), bool(is_slack_ready("ball.gif"))]
"""


async def make_gif(sandbox: Sandbox):
    """An animation is drawn, saved, and checked against the limits of the skill."""
    expect(await sandbox.code(_GIF) == [True, True], "the validators")
    picture = Image.open(io.BytesIO(await sandbox.download("ball.gif")))
    # Equal frames are one.
    expect(picture.size == (128, 128) and picture.n_frames >= 10, (picture.size, picture.n_frames))
    colours = set()
    for number in range(picture.n_frames):
        picture.seek(number)
        colours.add(picture.convert("RGB").resize((8, 8)).tobytes())
    expect(len(colours) > 6, "the frames are alike")


_WORKSPACE = """
import json, pathlib
skill = pathlib.Path("acme-notes")
(skill / "scripts").mkdir(parents=True)
(skill / "SKILL.md").write_text("---\\nname: acme-notes\\ndescription: Writes notes. Use it for notes.\\n---\\n# Notes\\n")
(skill / "scripts" / "note.py").write_text("print('a note')\\n")
for configuration, rates in (("with_skill", (1.0, 0.5)), ("without_skill", (0.5, 0.0))):
    for number, rate in enumerate(rates, 1):
        run = pathlib.Path(f"bench/eval-1/{configuration}/run-{number}")
        (run / "outputs").mkdir(parents=True)
        (run / "outputs" / "answer.md").write_text(f"An answer {number}")
        passed = int(rate * 2)
        (run / "grading.json").write_text(json.dumps({
            "expectations": [{"text": "t", "passed": n < passed, "evidence": "e"} for n in range(2)],
            "summary": {"passed": passed, "failed": 2 - passed, "total": 2, "pass_rate": rate},
        }))
        (run / "timing.json").write_text(json.dumps({"total_tokens": 100, "total_duration_seconds": 2.0}))
loop = {"history": [{"iteration": 1, "description": "d", "train_passed": 1, "train_total": 1, "passed": 1, "total": 1,
    "train_results": [{"query": "q", "should_trigger": True, "runs": 1, "triggers": 1, "pass": True}]}]}
_ = pathlib.Path("loop.json").write_text(json.dumps(loop))
"""


async def create_skill(sandbox: Sandbox):
    """A skill is validated and packaged, and results of its evaluation are summed up and shown."""
    await sandbox.code(_WORKSPACE)
    expect("Skill is valid!" in await sandbox.good("scripts/quick_validate.py", "acme-notes"), "validation")
    told = await sandbox.good("scripts/package_skill.py", "acme-notes", "dist")
    expect("Successfully packaged" in told, told)
    names = zipfile.ZipFile(io.BytesIO(await sandbox.download("dist/acme-notes.skill"))).namelist()
    expect(sorted(names) == ["acme-notes/SKILL.md", "acme-notes/scripts/note.py"], names)
    await sandbox.good("scripts/aggregate_benchmark.py", "bench", "--skill-name", "acme-notes")
    summary = json.loads(await sandbox.download("bench/benchmark.json"))["run_summary"]
    rates = [summary[name]["pass_rate"]["mean"] for name in ("with_skill", "without_skill")]
    expect(rates == [0.75, 0.25] and summary["delta"]["pass_rate"] == "+0.50", summary)
    await sandbox.good(
        "eval-viewer/generate_review.py", "bench", "--static", "review.html", "--benchmark", "bench/benchmark.json"
    )
    expect(b"An answer 2" in await sandbox.download("review.html"), "the review")
    await sandbox.good("scripts/generate_report.py", "loop.json", "-o", "report.html", "--skill-name", "acme-notes")
    expect(b"acme-notes" in await sandbox.download("report.html"), "the report")


# What is done, the skill, and the workflow.
ALL = [
    ("fill a PDF form", "pdf", fill_form),
    ("write on a PDF without fields", "pdf", annotate_form),
    ("unpack, edit and pack a Word document", "docx", edit_document),
    ("build a deck from a template", "pptx", build_deck),
    ("edit a workbook with formulas", "xlsx", edit_workbook),
    ("make a GIF", "slack-gif-creator", make_gif),
    ("validate, package and benchmark a skill", "skill-creator", create_skill),
]
