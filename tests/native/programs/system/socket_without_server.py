import socket
def main(args):
    found = []
    with socket.socket() as s:
        s.settimeout(0.5)
        found.append(s.connect_ex(("127.0.0.1", 9)))
    try:
        socket.create_connection(("localhost", 9), timeout=0.5)
    except ConnectionRefusedError as error:
        found.append(error.errno)
    return found
