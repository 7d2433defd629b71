import xlsxwriter, zipfile
def main(args):
    w = xlsxwriter.Workbook("c.xlsx"); s = w.add_worksheet("D"); s.write_column("A1", [1, 2, 3])
    c = w.add_chart({"type": "line"}); c.add_series({"values": "=D!$A$1:$A$3"}); s.insert_chart("C1", c); w.close()
    return sorted(n for n in zipfile.ZipFile("c.xlsx").namelist() if "chart" in n)
