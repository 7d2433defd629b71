# refused: ModuleNotFoundError: docx
from docx import Document

d = Document()
d.add_heading("Report")
d.save("r.docx")
