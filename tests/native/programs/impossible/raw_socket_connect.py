# refused: OSError: network
import socket


def main(args):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.connect(("93.184.216.34", 80))
    return s.recv(10)
