from sklearn import cluster, mixture
from sklearn.datasets import make_blobs


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
    X, y = make_blobs(60, centers=3, random_state=2)
    models = [
        cluster.KMeans(3, random_state=1, n_init=3),
        cluster.MiniBatchKMeans(3, random_state=1, n_init=3),
        cluster.BisectingKMeans(3, random_state=1),
        cluster.DBSCAN(1),
        cluster.AgglomerativeClustering(3),
        cluster.SpectralClustering(3, random_state=1),
        cluster.MeanShift(),
        cluster.AffinityPropagation(random_state=1),
        cluster.Birch(n_clusters=3),
        cluster.OPTICS(),
        mixture.GaussianMixture(3, random_state=1),
        mixture.BayesianGaussianMixture(n_components=3, random_state=1),
    ]
    for model in models:
        answers.append(attempt(lambda: ''.join(map(str, model.fit_predict(X)))))
        answers.append(attempt(lambda: round(model.inertia_, 6) if hasattr(model, "inertia_") else None))
        answers.append(attempt(lambda: model.labels_[:3] * 10**10 if hasattr(model, "labels_") else None))
    return answers
