import numpy as np
from scipy import stats


def main(args):
    rng = np.random.default_rng(3)
    a, b = rng.normal(0, 1, 40), rng.normal(0.6, 1.2, 35)
    out = {
        "t": list(stats.ttest_ind(a, b, equal_var=False)), "u": list(stats.mannwhitneyu(a, b)), "ks": list(stats.ks_2samp(a, b))[:2],
        "sw": list(stats.shapiro(a)), "chi": [float(v) for v in stats.chi2_contingency([[10, 20], [30, 15]])[:3]], "fisher": list(stats.fisher_exact([[8, 2], [1, 5]])),
        "anova": list(stats.f_oneway(a, b, a + 1)), "kw": list(stats.kruskal(a, b)), "wil": list(stats.wilcoxon(a[:35], b)), "lev": list(stats.levene(a, b)),
        "pear": list(stats.pearsonr(a[:35], b)), "spear": list(stats.spearmanr(a[:35], b)), "tau": list(stats.kendalltau(a[:35], b)),
        "binom": stats.binomtest(7, 10, 0.5).pvalue, "mode": [int(v) for v in stats.mode([1, 2, 2, 3])], "z": stats.zscore([1, 2, 3]).tolist(),
        "rank": stats.rankdata([10, 20, 20, 5]).tolist(), "iqr": stats.iqr(a), "ent": float(stats.entropy([0.2, 0.8])),
    }
    return {k: v if not isinstance(v, list) else [float(x) for x in v] for k, v in out.items()}
