class Tree:
    def __init__(self, parent=None):
        self.parent = parent
        self.kids = []
        self.data = list(range(20_000))
        if parent:
            parent.kids.append(self)


def main(args):
    n = 0
    for _ in range(60):
        root = Tree()
        for _ in range(30):
            Tree(root)
        n += len(root.kids)
    return n
