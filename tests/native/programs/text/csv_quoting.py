import csv, io
def main(args):
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["a,b", 'say "hi"', "line\nbreak", 3.5, None])
    buf.seek(0)
    return [buf.getvalue(), list(csv.reader(buf))]
