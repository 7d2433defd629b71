import socket
def main(args):
    a, b = socket.socketpair()
    a.settimeout(0.05)
    found = [a.gettimeout(), b.gettimeout()]
    for call in (lambda: a.recv(1), lambda: a.recv_into(bytearray(4))):
        try:
            call()
        except socket.timeout as error:
            found.append([type(error).__name__, str(error)])
    buffer = bytearray(8)
    b.send(b"abcdef")
    found.append([a.recv_into(buffer, 4), bytes(buffer).decode("latin-1"), a.recvfrom(9)[0].decode()])
    return found
