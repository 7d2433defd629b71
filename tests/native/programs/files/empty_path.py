import os
def main(args):
    out = [os.path.exists(""), os.path.isdir(""), os.path.isfile("")]
    for f in (os.stat, os.listdir, os.mkdir):
        try:
            f(""); out.append("fine")
        except OSError as e:
            out.append(type(e).__name__)
    return out
