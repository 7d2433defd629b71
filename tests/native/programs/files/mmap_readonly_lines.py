import mmap
import re


def main(args):
    with open("log.txt", "w") as f:
        for i in range(1000):
            f.write(f"{i} {'ERROR' if i % 100 == 0 else 'ok'} line\n")
    with open("log.txt", "rb") as f:
        with mmap.mmap(f.fileno(), length=0, access=mmap.ACCESS_READ) as mm:
            errs = [int(x) for x in re.findall(rb"(\d+) ERROR", mm)]
            lines = 0
            while mm.readline():
                lines += 1
            try:
                mm[0] = 65
            except TypeError as e:
                err = str(e)
            last = mm.rfind(b"ok")
            return {"errs": errs, "lines": lines, "err": err, "last": last, "slice": mm[5:12].decode(), "byte": mm[3]}
