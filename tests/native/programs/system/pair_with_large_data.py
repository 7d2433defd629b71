import hashlib, socket, threading
def main(args):
    data = bytes(range(256)) * 4000
    a, b = socket.socketpair()
    def produce():
        a.sendall(data)
        a.close()
    got = bytearray()
    a.setblocking(False)
    view, sent = memoryview(data), 0
    while sent < len(data):
        try:
            sent += a.send(view[sent:])
        except BlockingIOError:
            got += b.recv(100_000)
    a.close()
    while part := b.recv(65536):
        got += part
    return len(got), hashlib.sha256(got).hexdigest() == hashlib.sha256(data).hexdigest()
