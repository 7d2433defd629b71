from openpyxl import Workbook, load_workbook
from openpyxl.chart import BarChart, Reference
from openpyxl.styles import Font, PatternFill
from openpyxl.utils import get_column_letter
from datetime import date
import os


def main(args):
    wb = Workbook()
    ws = wb.active
    ws.title = "Sales"
    ws.append(["Item", "Qty", "Price", "Total", "Date"])
    for i, (n, q, p) in enumerate([("Tea", 3, 2.5), ("Cake", 10**10, 0.1)], 2):
        ws.append([n, q, p, f"=B{i}*C{i}", date(2024, 1, i)])
    for c in ws[1]:
        c.font = Font(bold=True)
        c.fill = PatternFill("solid", fgColor="FFFF00")
    ws.column_dimensions[get_column_letter(1)].width = 20
    ch = BarChart()
    ch.add_data(Reference(ws, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    ws.add_chart(ch, "G2")
    ws.merge_cells("A5:C5")
    wb.create_sheet("Empty")
    wb.save("report.xlsx")
    r = load_workbook("report.xlsx")
    s = r["Sales"]
    return {"sheets": r.sheetnames, "rows": [[str(v) for v in row] for row in s.iter_rows(values_only=True)], "dim": s.dimensions, "bold": s["A1"].font.b, "merged": str(s.merged_cells), "size": os.path.getsize("report.xlsx") > 4000, "type": s["E2"].number_format}
