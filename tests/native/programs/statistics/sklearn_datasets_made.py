from sklearn import datasets


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
    answers.append(attempt(lambda: datasets.make_regression(6, 3, noise=3, random_state=1)))
    answers.append(attempt(lambda: datasets.make_blobs(8, centers=3, random_state=2)))
    answers.append(attempt(lambda: datasets.make_classification(6, 4, n_informative=2, n_redundant=1, random_state=3)))
    answers.append(attempt(lambda: datasets.make_moons(6, noise=0.1, random_state=1)[0]))
    answers.append(attempt(lambda: datasets.make_circles(4, random_state=1)[0]))
    answers.append(attempt(lambda: datasets.make_friedman1(3, random_state=1)))
    answers.append(attempt(lambda: datasets.make_swiss_roll(3, random_state=1)))
    answers.append(attempt(lambda: datasets.make_sparse_uncorrelated(3, random_state=1)))
    answers.append(attempt(lambda: datasets.make_multilabel_classification(3, n_features=4, random_state=1)))
    answers.append(attempt(lambda: [datasets.load_wine().data.sum(), datasets.load_digits().data.sum(), datasets.load_diabetes().target.sum(), datasets.load_breast_cancer().data.mean()]))
    return answers
