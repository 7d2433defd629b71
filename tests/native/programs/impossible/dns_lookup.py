# refused: OSError|gaierror: network
import socket

print(socket.gethostbyname("example.com"))
