import pickle, socket
def main(args):
    a, b = socket.socketpair()
    with a.makefile("wb") as out, b.makefile("rb") as back:
        pickle.dump({"x": [1, 2, (3, "é")]}, out); out.flush()
        pickle.dump("second", out); out.flush()
        return pickle.load(back), pickle.load(back)
