import pandas as pd
import statsmodels.formula.api as smf
def main(args):
    df = pd.DataFrame({"y": [0, 0, 1, 0, 1, 1, 1, 0], "x": [1., 2, 3, 2.5, 4, 5, 3.5, 3.2]})
    r = smf.logit("y ~ x", df).fit(disp=0)
    return r.params.round(5).to_dict()
