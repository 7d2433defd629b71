def main(args):
    x = None
    for _ in range(200000):
        x = [x]
    del x
    class Node:
        def __init__(self, n): self.next = n
    h = None
    for _ in range(100000):
        h = Node(h)
    h = None
    return "freed"
