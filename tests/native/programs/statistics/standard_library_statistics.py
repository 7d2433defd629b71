import statistics as st
from decimal import Decimal
from fractions import Fraction


def main(args):
    d = [2, 4, 4, 4, 5, 5, 7, 9]
    return {
        "mean": st.mean(d), "fmean": st.fmean(d), "gm": st.geometric_mean(d), "hm": st.harmonic_mean(d), "med": [st.median(d), st.median_low(d), st.median_high(d), st.median_grouped(d)],
        "mode": st.mode("aabbb"), "mm": st.multimode("aabbc"), "pst": st.pstdev(d), "st": st.stdev(d), "var": st.variance(d), "q": st.quantiles(d, n=4), "q2": st.quantiles(d, n=10, method="inclusive"),
        "frac": str(st.mean([Fraction(1, 3), Fraction(1, 2)])), "dec": str(st.mean([Decimal("0.5"), Decimal("0.75")])), "corr": st.correlation(d, d[::-1]), "cov": st.covariance(d, d[::-1]),
        "reg": list(st.linear_regression([1, 2, 3], [2, 4, 6.5])), "nd": st.NormalDist(100, 15).inv_cdf(0.9), "ov": st.NormalDist(0, 1).overlap(st.NormalDist(1, 1)), "samples": st.NormalDist(0, 1).samples(3, seed=5),
    }
