import socket, threading
def serve(sock):
    with sock:
        while data := sock.recv(1024):
            sock.sendall(data.upper())
def main(args):
    client, server = socket.socketpair()
    thread = threading.Thread(target=serve, args=(server,))
    client.sendall(b"all of it")
    client.shutdown(socket.SHUT_WR)
    thread.start()
    answer = client.recv(1024)
    thread.join()
    return answer.decode(), client.recv(10).decode()
