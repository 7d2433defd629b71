import random


def main(args):
    random.seed(4)
    ids = random.sample(range(10**10), 5)
    pick = random.choice(range(10**10))
    return {"ids": ids, "pick": pick}
