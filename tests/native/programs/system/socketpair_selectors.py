import selectors, socket
def main(args):
    log = []
    selector = selectors.DefaultSelector()
    pairs = [socket.socketpair() for _ in range(3)]
    for number, (a, b) in enumerate(pairs):
        selector.register(b, selectors.EVENT_READ, number)
    log.append(len(selector.select(timeout=0.01)))
    pairs[1][0].send(b"one"); pairs[2][0].send(b"two")
    for key, events in sorted(selector.select(), key=lambda item: item[0].data):
        log.append([key.data, events == selectors.EVENT_READ, key.fileobj.recv(10).decode()])
    pairs[0][0].close()
    log.append([key.data for key, _ in selector.select(1)])
    selector.unregister(pairs[0][1])
    log.append(len(selector.get_map()))
    selector.close()
    return log
