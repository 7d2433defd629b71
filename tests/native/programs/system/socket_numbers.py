import socket
def main(args):
    names = ["AF_INET", "AF_INET6", "AF_UNIX", "SOCK_STREAM", "SOCK_DGRAM", "SOL_SOCKET", "SO_REUSEADDR",
             "SHUT_RD", "SHUT_WR", "SHUT_RDWR", "MSG_PEEK", "MSG_WAITALL", "MSG_DONTWAIT", "EAI_NONAME",
             "EAI_AGAIN", "AI_PASSIVE", "NI_NUMERICHOST", "IPPROTO_TCP", "TCP_NODELAY", "INADDR_ANY"]
    return {name: int(getattr(socket, name)) for name in names} | {"repr": repr(socket.AF_INET)}
