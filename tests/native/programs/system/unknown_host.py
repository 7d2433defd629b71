import socket
def main(args):
    try:
        socket.getaddrinfo("no-such-host.invalid", 80)
    except socket.gaierror as error:
        return isinstance(error, OSError), error.errno in (socket.EAI_NONAME, socket.EAI_AGAIN)
