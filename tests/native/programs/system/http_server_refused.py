# refused: OSError: a program in the sandbox cannot be a server
import http.server
def main(args):
    http.server.HTTPServer(("127.0.0.1", 8000), http.server.BaseHTTPRequestHandler)
