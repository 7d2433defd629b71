import os
def main(args):
    open("/dev/null", "w").write("gone")
    return [open("/dev/null").read(), len(open("/dev/urandom", "rb").read(16)), os.path.exists("/dev/null"), os.devnull, open("/dev/zero", "rb").read(3).hex()]
