import io
import os


def attempt(f):
    try:
        return repr(f())
    except Exception as e:
        return f"{type(e).__name__}: {e}"


def main(args):
    with open("f.txt", "w", encoding="utf-8", newline="\r\n") as f:
        f.write("a\nb\n")
        pos = f.tell()
    raw = open("f.txt", "rb").read()
    out = {"raw": raw.decode(), "pos": pos, "empty": attempt(lambda: open("")), "emptyw": attempt(lambda: open("", "w")), "x": attempt(lambda: open("f.txt", "x")), "nf": attempt(lambda: open("no/f")), "mode": attempt(lambda: open("f.txt", "rw")), "both": attempt(lambda: open("f.txt", "rb", encoding="utf8")), "dir": attempt(lambda: open(".")), "dirw": attempt(lambda: open("/", "w")), "wr": attempt(lambda: open("f.txt").write("x")), "rd": attempt(lambda: open("f.txt", "w").read()), "closed": attempt(lambda: _closed()), "none": attempt(lambda: open(None)), "neg": attempt(lambda: open(-1)), "bigfd": attempt(lambda: open(999)), "float": attempt(lambda: open(1.5)), "enc": attempt(lambda: open("f.txt", encoding="nope")), "buf": attempt(lambda: open("f.txt", buffering=0)), "seek": attempt(lambda: io.StringIO("abc").seek(-1)), "cur": attempt(lambda: open("f.txt").seek(1, 1)), "trail": attempt(lambda: open("f.txt/")), "perm": attempt(lambda: open("/proc/nope")), "nulls": attempt(lambda: open("\0")), "bytes": attempt(lambda: open(b"f.txt").name)}
    with open("g", "w+b") as g:
        g.write(b"0123456789")
        g.seek(-3, os.SEEK_END)
        out["tail"] = g.read().decode()
        g.truncate(4)
        g.seek(8)
        g.write(b"x")
    out["sparse"] = open("g", "rb").read().hex()
    with open("g", "ab") as g:
        g.seek(0)
        g.write(b"Z")
        out["append"] = g.tell()
    with open("t", "w") as t:
        t.write("é\u2028x")
    with open("t", encoding="latin-1") as t:
        out["mojibake"] = t.read()
    with open("t", encoding="ascii", errors="replace") as t:
        out["repl"] = t.read()
    out["attrs"] = [t.mode, t.closed, t.name, t.encoding, t.newlines]
    return out


def _closed():
    f = open("f.txt")
    f.close()
    return f.read()
