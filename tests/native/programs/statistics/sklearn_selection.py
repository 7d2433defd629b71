from sklearn import feature_selection as fs, inspection, model_selection as ms
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier


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
    grid = ms.GridSearchCV(SVC(), {"C": [0.1, 1, 10], "kernel": ["linear", "rbf"]}, cv=3).fit(X, y)
    answers.append(attempt(lambda: grid.best_params_))
    answers.append(attempt(lambda: grid.cv_results_["mean_test_score"]))
    answers.append(attempt(lambda: grid.cv_results_["rank_test_score"]))
    answers.append(attempt(lambda: fs.SelectKBest(k=2).fit(X, y).get_support(True) * 10**10))
    answers.append(attempt(lambda: fs.chi2(X, y)))
    answers.append(attempt(lambda: fs.f_classif(X, y)))
    answers.append(attempt(lambda: fs.mutual_info_classif(X, y, random_state=1)))
    answers.append(attempt(lambda: fs.RFE(LogisticRegression(max_iter=500), n_features_to_select=2).fit(X, y).ranking_ * 10**10))
    answers.append(attempt(lambda: fs.VarianceThreshold(0.2).fit(X).get_support()))
    answers.append(attempt(lambda: ms.RandomizedSearchCV(DecisionTreeClassifier(random_state=1), {"max_depth": range(1, 9)}, n_iter=4, random_state=1, cv=3).fit(X, y).best_params_))
    answers.append(attempt(lambda: list(ms.ParameterSampler({"a": range(100), "b": [1, 2]}, 3, random_state=5))))
    answers.append(attempt(lambda: ms.learning_curve(GaussianNB(), X, y, cv=3, shuffle=True, random_state=1)[0] * 10**10))
    answers.append(attempt(lambda: ms.cross_val_predict(GaussianNB(), X, y, cv=3).sum() * 10**10))
    answers.append(attempt(lambda: ms.permutation_test_score(GaussianNB(), X, y, n_permutations=5, random_state=1)))
    answers.append(attempt(lambda: inspection.permutation_importance(GaussianNB().fit(X, y), X, y, n_repeats=2, random_state=1).importances_mean))
    answers.append(attempt(lambda: ms.validation_curve(DecisionTreeClassifier(random_state=1), X, y, param_name="max_depth", param_range=[1, 2], cv=3)[1]))
    return answers
