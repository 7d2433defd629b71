def main(args):
    def depth(n):
        return 0 if n == 0 else sorted([n], key=lambda x: depth(x - 1))[0]
    return depth(200)
