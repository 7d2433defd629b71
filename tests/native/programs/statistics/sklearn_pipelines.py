import numpy as np
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
import pandas as pd


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
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    frame = pd.DataFrame({"town": ["a", "b", "a", None], "n": [10**10, 2, np.nan, 4]})
    answers.append(attempt(lambda: pipe.fit(X, y).score(X, y)))
    answers.append(attempt(lambda: repr(pipe)))
    answers.append(attempt(lambda: pipe[-1].coef_.round(5)))
    answers.append(attempt(lambda: sorted(pipe.get_params())[:8]))
    answers.append(attempt(lambda: SimpleImputer().fit_transform([[1, np.nan], [3, 4]])))
    answers.append(attempt(lambda: KNNImputer(n_neighbors=1).fit_transform([[1, np.nan], [3, 4]])))
    answers.append(attempt(lambda: SimpleImputer(strategy="most_frequent").fit_transform(frame[["town"]])))
    answers.append(attempt(lambda: make_column_transformer((OneHotEncoder(), ["town"]), (MinMaxScaler(), ["n"])).fit_transform(frame)))
    answers.append(attempt(lambda: ColumnTransformer([("s", StandardScaler(), ["n"])]).set_output(transform="pandas").fit_transform(frame).round(6)))
    answers.append(attempt(lambda: FeatureUnion([("a", StandardScaler()), ("b", MinMaxScaler())]).fit_transform(X)[:1]))
    answers.append(attempt(lambda: LogisticRegression().predict(X)))
    answers.append(attempt(lambda: LogisticRegression().fit(X, y[:5])))
    answers.append(attempt(lambda: StandardScaler().fit([["a"]])))
    return answers
