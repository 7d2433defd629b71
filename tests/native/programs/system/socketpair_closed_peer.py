import socket
def main(args):
    a, b = socket.socketpair()
    b.close()
    found = [a.recv(10).decode()]
    for call in (lambda: a.send(b"x"), lambda: a.sendall(b"x"), lambda: b.send(b"x"), lambda: b.recv(1)):
        try:
            call()
        except OSError as error:
            found.append([type(error).__name__, error.errno])
    return found
