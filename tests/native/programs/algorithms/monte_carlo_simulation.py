import random
import statistics


def simulate(seed, days=100):
    r = random.Random(seed)
    price = 100.0
    path = []
    for _ in range(days):
        price *= 1 + r.gauss(0.0005, 0.02)
        path.append(price)
    return path


def main(args):
    ends = [simulate(s)[-1] for s in range(200)]
    doors = random.Random(0)
    wins = sum((c := doors.randrange(3)) != (p := doors.randrange(3)) for _ in range(5000))
    walk = random.Random(1).choices((-1, 1), k=1000)
    return {"mean": statistics.fmean(ends), "sd": statistics.stdev(ends), "p5": sorted(ends)[10], "wins": wins, "walk": sum(walk), "shuf": random.Random(9).sample("abcdefgh", 8), "cnt": random.Random(2).sample(["r", "b"], counts=[5, 3], k=4)}
