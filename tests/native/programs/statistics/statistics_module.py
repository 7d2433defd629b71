import statistics as s
def main(args):
    d = [2.5, 3.25, 5.5, 11.25, 11.75]
    return [s.mean(d), s.median(d), s.stdev(d), s.pvariance(d), s.quantiles(d, n=4), s.mode([1, 1, 2]), s.harmonic_mean(d), s.correlation(d, d[::-1])]
