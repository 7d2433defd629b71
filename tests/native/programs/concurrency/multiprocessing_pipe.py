# refused: OSError: a plain loop
from multiprocessing import Pipe, Process


def child(conn):
    conn.send(["hello", 42])
    conn.close()


def main(args):
    a, b = Pipe()
    p = Process(target=child, args=(b,))
    p.start()
    msg = a.recv()
    p.join()
    return msg
