def main(args):
    class B:
        n = 0
        def add(self): self.n += 1; return self
    return eval("B()" + ".add()" * 300 + ".n", {"B": B})
