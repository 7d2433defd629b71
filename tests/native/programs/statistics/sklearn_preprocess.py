import numpy as np
from sklearn import preprocessing as pp
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
    answers.append(attempt(lambda: pp.StandardScaler().fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.MinMaxScaler().fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.RobustScaler().fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.MaxAbsScaler().fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.OneHotEncoder().fit_transform([["a"], ["b"]]).toarray()))
    answers.append(attempt(lambda: pp.OneHotEncoder(drop="first", sparse_output=False).fit_transform([["a", 1], ["b", 2]])))
    answers.append(attempt(lambda: pp.LabelEncoder().fit_transform(["b", "a", "c"]) * 10**10))
    answers.append(attempt(lambda: pp.OrdinalEncoder().fit_transform([["a"], ["b"]])))
    answers.append(attempt(lambda: pp.PolynomialFeatures(2).fit_transform([[1, 2]])))
    answers.append(attempt(lambda: list(pp.PolynomialFeatures(2).fit([[1, 2]]).get_feature_names_out(["a", "b"]))))
    answers.append(attempt(lambda: pp.KBinsDiscretizer(3, encode="ordinal").fit_transform(X)[:3]))
    answers.append(attempt(lambda: pp.PowerTransformer().fit_transform(X)[:2].round(4)))
    answers.append(attempt(lambda: pp.QuantileTransformer(n_quantiles=10, random_state=1).fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.LabelBinarizer().fit_transform([1, 2, 1])))
    answers.append(attempt(lambda: pp.Normalizer().fit_transform(X)[:2]))
    answers.append(attempt(lambda: pp.Binarizer().fit_transform([[-1, 1]])))
    answers.append(attempt(lambda: pp.SplineTransformer().fit_transform([[1.0], [2], [3]])))
    answers.append(attempt(lambda: pp.TargetEncoder(random_state=1).fit_transform([["a"], ["b"]] * 10, [0, 1] * 10)[:3]))
    answers.append(attempt(lambda: pp.MultiLabelBinarizer().fit_transform([[1, 2], [2]])))
    answers.append(attempt(lambda: pp.FunctionTransformer(np.log1p).fit_transform(X)[:1]))
    return answers
