import numpy as np
from sklearn import decomposition as dec, manifold, random_projection
from sklearn.datasets import load_iris


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    X, y = load_iris(return_X_y=True)
    answers.append(attempt(lambda: np.abs(dec.PCA(2).fit_transform(X)[:3]).round(7)))
    answers.append(attempt(lambda: dec.PCA(2).fit(X).explained_variance_ratio_))
    answers.append(attempt(lambda: dec.PCA(0.95).fit(X).n_components_ * 10**10))
    answers.append(attempt(lambda: np.abs(dec.TruncatedSVD(2, random_state=1).fit_transform(X)[:2]).round(7)))
    answers.append(attempt(lambda: dec.NMF(2, random_state=1, max_iter=500).fit_transform(X)[:2].round(3)))
    answers.append(attempt(lambda: np.abs(dec.FastICA(2, random_state=1).fit_transform(X)[:2]).round(4)))
    answers.append(attempt(lambda: dec.LatentDirichletAllocation(2, random_state=1).fit_transform(X)[:2].round(4)))
    answers.append(attempt(lambda: np.abs(dec.KernelPCA(2, kernel="rbf").fit_transform(X)[:2]).round(5)))
    answers.append(attempt(lambda: np.abs(dec.FactorAnalysis(2, random_state=1).fit_transform(X)[:2]).round(4)))
    answers.append(attempt(lambda: np.abs(dec.IncrementalPCA(2).fit_transform(X)[:2]).round(5)))
    answers.append(attempt(lambda: np.abs(dec.SparsePCA(2, random_state=1).fit_transform(X)[:2]).round(3)))
    answers.append(attempt(lambda: np.abs(manifold.Isomap().fit_transform(X)[:2]).round(2)))
    answers.append(attempt(lambda: manifold.MDS(random_state=1, n_init=1, max_iter=20).fit(X[:20]).embedding_.shape))
    answers.append(attempt(lambda: random_projection.GaussianRandomProjection(2, random_state=1).fit_transform(X)[:2]))
    answers.append(attempt(lambda: random_projection.johnson_lindenstrauss_min_dim(10**6, eps=0.1)))
    return answers
