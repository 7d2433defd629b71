class Node:
    def __init__(self, size):
        self.me = self
        self.payload = bytearray(size)


def main(args):
    total = 0
    for i in range(400):
        n = Node(4_000_000)
        total += len(n.payload)
    return {"total": total}
