from sklearn.datasets import load_iris
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.neighbors import BallTree, KDTree, KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text


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
    tree = DecisionTreeClassifier(max_depth=3, random_state=1).fit(X, y)
    answers.append(attempt(lambda: export_text(tree)))
    answers.append(attempt(lambda: export_graphviz(tree)[:300]))
    answers.append(attempt(lambda: tree.tree_.feature.tolist()))
    answers.append(attempt(lambda: tree.tree_.threshold))
    answers.append(attempt(lambda: tree.tree_.node_count * 10**10))
    answers.append(attempt(lambda: tree.apply(X[:3]) * 10**10))
    answers.append(attempt(lambda: tree.decision_path(X[:2]).toarray().tolist()))
    answers.append(attempt(lambda: tree.cost_complexity_pruning_path(X, y).ccp_alphas))
    answers.append(attempt(lambda: tree.get_depth() * 10**10))
    answers.append(attempt(lambda: NearestNeighbors(n_neighbors=3).fit(X).kneighbors(X[:2])[0]))
    answers.append(attempt(lambda: NearestNeighbors(n_neighbors=2).fit(X[::7]).kneighbors_graph(X[:2]).toarray().sum() * 10**10))
    answers.append(attempt(lambda: KernelDensity().fit(X).score_samples(X[:2])))
    answers.append(attempt(lambda: LocalOutlierFactor().fit_predict(X)[:5]))
    answers.append(attempt(lambda: IsolationForest(random_state=1).fit_predict(X)[:10]))
    answers.append(attempt(lambda: IsolationForest(random_state=1).fit(X).score_samples(X[:3])))
    answers.append(attempt(lambda: RandomForestClassifier(5, oob_score=True, random_state=1, n_jobs=-1).fit(X, y).oob_score_))
    answers.append(attempt(lambda: KDTree(X).query_radius(X[:2], 0.5, count_only=True) * 10**10))
    answers.append(attempt(lambda: BallTree(X, metric="manhattan").query(X[100:101], 3)[0]))
    return answers
