import socket
def main(args):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    a.send(b"one"); a.send(b"two words"); a.send(b"")
    return [b.recv(100).decode(), b.recv(3).decode(), b.recv(100).decode(), b.type.name]
