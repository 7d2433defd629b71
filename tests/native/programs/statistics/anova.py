from scipy import stats
def main(args):
    r = stats.f_oneway([6, 8, 4, 5, 3, 4], [8, 12, 9, 11, 6, 8], [13, 9, 11, 8, 7, 12])
    return [float(r.statistic), float(r.pvalue), float(stats.kruskal([1, 2, 3], [4, 5, 6]).pvalue)]
