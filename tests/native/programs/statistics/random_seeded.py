import random
def main(args):
    random.seed(123)
    return [random.random(), random.randint(1, 10**12), random.choice("abcdef"), random.sample(range(100), 5), random.gauss(0, 1), random.shuffle(x := list(range(6))) or x]
