# refused: : network
import socketserver
socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)
