import numpy as np
import statsmodels.api as sm
import statsmodels.formula.api as smf
import pandas as pd


def main(args):
    rng = np.random.default_rng(10)
    df = pd.DataFrame({"x": rng.normal(size=80), "g": rng.choice(["a", "b", "c"], 80)})
    df["y"] = 2 * df.x + (df.g == "b") * 1.5 + rng.normal(scale=0.5, size=80)
    fit = smf.ols("y ~ x + C(g)", df).fit()
    X = sm.add_constant(df[["x"]])
    wls = sm.WLS(df.y, X, weights=np.arange(1, 81)).fit()
    return {"params": fit.params.round(8).to_dict(), "r2": fit.rsquared, "p": fit.pvalues.round(8).to_dict(), "wls": wls.params.tolist(), "aic": fit.aic,
            "anova": sm.stats.anova_lm(fit).round(6).fillna(0).to_dict(), "head": str(fit.summary().tables[1])[:400]}
