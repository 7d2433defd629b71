import threading
def main(args):
    out = []
    ts = [threading.Thread(target=lambda i=i: out.append(i * i)) for i in range(5)]
    [t.start() for t in ts]; [t.join() for t in ts]
    return sorted(out)
