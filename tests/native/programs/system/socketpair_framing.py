import socket, struct
def send(sock, payload):
    sock.sendall(struct.pack("!I", len(payload)) + payload)
def receive(sock):
    head = sock.recv(4, socket.MSG_WAITALL)
    return sock.recv(struct.unpack("!I", head)[0], socket.MSG_WAITALL)
def main(args):
    a, b = socket.socketpair()
    send(a, b"hello")
    send(a, b"")
    send(a, b"x" * 5000)
    return [receive(b).decode(), receive(b).decode(), len(receive(b))]
