import socket
def main(args):
    found = []
    for family in (socket.AF_INET, socket.AF_INET6, 12345):
        try:
            socket.socketpair(family)
        except OSError as error:
            found.append(error.errno)
    try:
        socket.socketpair(socket.AF_UNIX, 77)
    except OSError as error:
        found.append(error.errno)
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM, 0)
    found += [a.getsockname(), b.getpeername(), a.proto, a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)]
    try:
        a.connect("/tmp/x")
    except OSError as error:
        found.append(type(error).__name__)
    return found
