# refused: OSError: network
import socketserver


class H(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.sendall(b"x")


def main(args):
    with socketserver.TCPServer(("127.0.0.1", 0), H) as s:
        s.handle_request()
