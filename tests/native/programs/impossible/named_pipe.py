# refused: OSError: use a file, or `queue.Queue`
import os
import threading


def main(args):
    os.mkfifo("channel")
    writer = threading.Thread(target=lambda: open("channel", "w").write("hello"))
    writer.start()
    return open("channel").read()
