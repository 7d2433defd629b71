from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB, MultinomialNB, BernoulliNB, ComplementNB
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.dummy import DummyClassifier


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
    models = [
        GaussianNB(),
        MultinomialNB(),
        BernoulliNB(),
        ComplementNB(),
        LinearDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(),
        KNeighborsClassifier(),
        NearestCentroid(),
        DummyClassifier(strategy='stratified', random_state=1),
    ]
    for model in models:
        answers.append(attempt(lambda: ''.join(map(str, model.fit(X, y).predict(X)[::3]))))
        answers.append(attempt(lambda: model.score(X, y)))
        answers.append(attempt(lambda: model.predict_proba(X[::50]).round(5) if hasattr(model, "predict_proba") else None))
        answers.append(attempt(lambda: model.feature_importances_.round(8) if hasattr(model, "feature_importances_") else None))
        answers.append(attempt(lambda: cross_val_score(model, X, y, cv=3)))
    return answers
