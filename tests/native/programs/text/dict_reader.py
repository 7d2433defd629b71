import csv, io
def main(args):
    rows = list(csv.DictReader(io.StringIO("name;age\nAda;36\nAlan;41\n"), delimiter=";"))
    return sorted(rows, key=lambda r: -int(r["age"]))
