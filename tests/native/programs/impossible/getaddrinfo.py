# refused: : network
import socket
socket.getaddrinfo("example.com", 443)
