import select, socket
def main(args):
    a, b = socket.socketpair()
    log = [[len(part) for part in select.select([a, b], [a, b], [a, b], 0)]]
    a.send(b"1")
    readable, writable, _ = select.select([a, b], [], [], 5)
    log.append([readable == [b], b.recv(5).decode()])
    poll = select.poll()
    poll.register(b.fileno(), select.POLLIN)
    log.append(poll.poll(10))
    a.close()
    log.append([mask & select.POLLIN for _, mask in poll.poll(10)])
    return log
