from scipy import stats
def main(args):
    a = [5.1, 4.9, 6.2, 5.7, 5.9]
    b = [6.5, 6.1, 7.0, 6.8, 6.2]
    t, p = stats.ttest_ind(a, b)
    return {"t": float(t), "p": float(p), "welch": float(stats.ttest_ind(a, b, equal_var=False).pvalue)}
