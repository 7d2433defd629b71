# refused: ModuleNotFoundError|ImportError|OSError: network
import socket
import ssl

ctx = ssl.create_default_context()
with socket.create_connection(("example.com", 443)) as s:
    with ctx.wrap_socket(s, server_hostname="example.com") as t:
        print(t.version())
