import numpy as np
from sklearn.linear_model import LinearRegression
def main(args):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = X @ [1.5, -2, 0.5] + 3
    m = LinearRegression().fit(X, y)
    return {"coef": m.coef_.round(8).tolist(), "b": round(float(m.intercept_), 8), "r2": round(m.score(X, y), 8)}
