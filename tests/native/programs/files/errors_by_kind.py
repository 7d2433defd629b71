import os
def main(args):
    os.mkdir("d"); open("d/f", "w").close()
    out = []
    for f in (lambda: os.mkdir("d"), lambda: os.rmdir("d"), lambda: open("d"), lambda: os.listdir("d/f"), lambda: os.rename("x", "y"), lambda: os.unlink("d"), lambda: open("d/f", "x")):
        try:
            f()
        except OSError as e:
            out.append([type(e).__name__, e.errno])
    return out
