from sklearn import metrics
from sklearn.datasets import load_iris, make_blobs


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
    blobs, groups = make_blobs(60, centers=3, random_state=2)
    a, b = [0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1]
    answers.append(attempt(lambda: metrics.mean_squared_error(a, b)))
    answers.append(attempt(lambda: metrics.root_mean_squared_error(a, b)))
    answers.append(attempt(lambda: metrics.r2_score([1, 2, 3], [1, 2, 4])))
    answers.append(attempt(lambda: metrics.mean_absolute_percentage_error([1, 2], [1, 3])))
    answers.append(attempt(lambda: metrics.median_absolute_error([1, 2], [1, 4])))
    answers.append(attempt(lambda: metrics.max_error([10**10, 2], [1, 4])))
    answers.append(attempt(lambda: metrics.explained_variance_score([1, 2, 3], [1, 2, 4])))
    answers.append(attempt(lambda: metrics.mean_poisson_deviance([1, 2], [1, 3])))
    answers.append(attempt(lambda: metrics.silhouette_score(blobs, groups)))
    answers.append(attempt(lambda: metrics.davies_bouldin_score(blobs, groups)))
    answers.append(attempt(lambda: metrics.calinski_harabasz_score(blobs, groups)))
    answers.append(attempt(lambda: metrics.adjusted_rand_score(a, b)))
    answers.append(attempt(lambda: metrics.rand_score(a, b)))
    answers.append(attempt(lambda: metrics.normalized_mutual_info_score(a, b)))
    answers.append(attempt(lambda: metrics.fowlkes_mallows_score(a, b)))
    answers.append(attempt(lambda: metrics.v_measure_score(a, b)))
    answers.append(attempt(lambda: metrics.cluster.contingency_matrix(a, b) * 10**10))
    answers.append(attempt(lambda: metrics.cluster.pair_confusion_matrix([0] * 50000 + [1] * 50000, [0, 1] * 50000)))
    answers.append(attempt(lambda: metrics.pairwise_distances(X[:3])))
    answers.append(attempt(lambda: metrics.pairwise.cosine_similarity(X[:2])))
    answers.append(attempt(lambda: metrics.pairwise.rbf_kernel(X[:2])))
    answers.append(attempt(lambda: metrics.auc([0, 1, 3], [0, 1, 2])))
    return answers
