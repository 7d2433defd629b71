import socket
def main(args):
    found = socket.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
    return [[family.name, int(family), kind.name, int(kind), proto, name, list(address)]
            for family, kind, proto, name, address in found]
