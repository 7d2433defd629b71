import socket
def main(args):
    a, b = socket.socketpair()
    reader, writer = b.makefile("r", encoding="utf-8", newline="\n"), a.makefile("w", encoding="utf-8")
    print("first line", file=writer)
    print("zweite Zeile äöü", file=writer, flush=True)
    writer.close(); a.close()
    return reader.readlines(), reader.read()
