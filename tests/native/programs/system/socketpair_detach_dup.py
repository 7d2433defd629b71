import socket
def main(args):
    a, b = socket.socketpair()
    again = a.dup()
    raw = a.detach()
    third = socket.socket(fileno=raw)
    third.send(b"1"); again.send(b"2")
    found = [b.recv(10).decode(), third.family.name, third.type.name, a.fileno()]
    third.close()
    again.send(b"3")
    found.append(b.recv(1).decode())
    again.close()
    return found + [b.recv(1).decode()]
