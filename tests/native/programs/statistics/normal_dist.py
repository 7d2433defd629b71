from statistics import NormalDist
def main(args):
    n = NormalDist(100, 15)
    return [n.cdf(130), n.inv_cdf(0.95), n.overlap(NormalDist(110, 15)), n.zscore(85)]
