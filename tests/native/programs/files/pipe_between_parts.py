# refused: OSError: queue.Queue
import os


def main(args):
    r, w = os.pipe()
    os.write(w, b"through the pipe")
    os.close(w)
    with os.fdopen(r) as f:
        return {"text": f.read()}
