from scipy.stats import chi2_contingency, fisher_exact
def main(args):
    r = chi2_contingency([[10, 20, 30], [6, 9, 17]])
    return {"chi2": float(r.statistic), "p": float(r.pvalue), "dof": int(r.dof), "fisher": [float(v) for v in fisher_exact([[8, 2], [1, 5]])]}
