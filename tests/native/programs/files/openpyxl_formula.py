from openpyxl import Workbook, load_workbook
from openpyxl.styles import Font
def main(args):
    w = Workbook(); s = w.active; s.append(["n", 1]); s["A2"] = "=SUM(B1:B1)"; s["A1"].font = Font(bold=True); s.merge_cells("C1:D1"); w.save("w.xlsx")
    l = load_workbook("w.xlsx").active
    return [l["A2"].value, l["A1"].font.bold, l.max_row, [str(m) for m in l.merged_cells.ranges]]
