import socket
def main(args):
    a, b = socket.socketpair()
    with a, b:
        a.sendall(b"ping")
        first = b.recv(1024)
        b.sendall(first[::-1])
        b.shutdown(socket.SHUT_WR)
        parts = []
        while data := a.recv(3):
            parts.append(data.decode())
        return first.decode(), parts, a.family.name, a.type.name
