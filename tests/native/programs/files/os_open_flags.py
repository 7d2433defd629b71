import os
def main(args):
    f = os.open("n", os.O_CREAT | os.O_RDWR, 0o640)
    os.write(f, b"abc"); os.lseek(f, 0, 0); r = os.read(f, 2); os.close(f)
    g = os.open("m", os.O_CREAT); os.close(g)
    d = os.open("x", os.O_CREAT | os.O_WRONLY | os.O_APPEND); os.write(d, b"1"); os.lseek(d, 0, 0); os.write(d, b"2"); os.close(d)
    return [r.decode(), os.path.exists("m"), open("x").read(), os.path.getsize("n")]
