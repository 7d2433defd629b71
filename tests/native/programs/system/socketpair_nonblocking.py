import errno, socket
def main(args):
    a, b = socket.socketpair()
    a.setblocking(False); b.setblocking(False)
    found = []
    try:
        a.recv(1)
    except BlockingIOError as error:
        found.append(errno.errorcode[error.errno])
    total = 0
    try:
        while True:
            total += a.send(b"y" * 4096)
    except BlockingIOError:
        found.append(total > 4096)
    got = 0
    try:
        while True:
            got += len(b.recv(65536))
    except BlockingIOError:
        found.append(got == total)
    return found
