import os
def main(args):
    f = os.open("v", os.O_CREAT | os.O_RDWR)
    os.writev(f, [b"ab", b"cde"]); b1, b2 = bytearray(2), bytearray(2); os.lseek(f, 0, 0); n = os.readv(f, [b1, b2])
    return [n, bytes(b1 + b2).decode(), os.pread(f, 3, 1).decode(), os.pwrite(f, b"Z", 0), os.fstat(f).st_size]
