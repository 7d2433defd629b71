import numpy as np, statsmodels.api as sm
def main(args):
    x = np.arange(10.0)
    y = 2 * x + 1 + np.array([.1, -.2, .05, .3, -.1, 0, .2, -.3, .1, -.05])
    r = sm.OLS(y, sm.add_constant(x)).fit()
    return {"params": r.params.tolist(), "p": r.pvalues.tolist(), "r2": r.rsquared, "aic": r.aic}
