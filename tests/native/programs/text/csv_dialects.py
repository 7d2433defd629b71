import csv
import io


def main(args):
    raw = 'name;notes;amount\n"Smith; John";"says ""hi""";1,50\nLi;multi\\nline;2\n'
    d = csv.Sniffer().sniff(raw, ";,")
    rows = list(csv.DictReader(io.StringIO(raw), delimiter=";"))
    out = io.StringIO()
    w = csv.DictWriter(out, ["a", "b"], quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n", extrasaction="ignore")
    w.writeheader()
    w.writerow({"a": 1.5, "b": 'x"y', "c": 0})
    w.writerow({"a": None, "b": "line\nbreak"})
    t = io.StringIO(newline="")
    csv.writer(t, csv.excel_tab).writerows([[1, "a\tb"], ["", None]])
    err = None
    try:
        list(csv.reader(["a\0b"], strict=True))
        list(csv.reader(['"a"b'], strict=True))
    except csv.Error as e:
        err = str(e)
    try:
        csv.DictWriter(io.StringIO(), ["a"]).writerow({"b": 1})
    except ValueError as e:
        err2 = str(e)
    return {"delim": d.delimiter, "rows": rows, "out": out.getvalue(), "tab": t.getvalue(), "err": err, "err2": err2, "limit": csv.field_size_limit(), "dialects": csv.list_dialects(), "header": csv.Sniffer().has_header("a,b\n1,2\n3,4\n")}
