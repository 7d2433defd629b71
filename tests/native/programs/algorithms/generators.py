def main(args):
    def gen():
        x = 0
        while True:
            x = (yield x) or x + 1
    g = gen()
    return [next(g), next(g), g.send(10), next(g), sum(i * i for i in range(10**5))]
