from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import KFold, cross_val_score


def main(args):
    X, y = load_iris(return_X_y=True)
    rf = RandomForestClassifier(n_estimators=20, random_state=1).fit(X, y)
    gb = GradientBoostingClassifier(n_estimators=10, random_state=1)
    scores = cross_val_score(gb, X, y, cv=KFold(5, shuffle=True, random_state=0))
    return {"imp": rf.feature_importances_.round(6).tolist(), "pred": rf.predict(X[::15]).tolist(), "cv": scores.round(6).tolist(),
            "depth": [t.get_depth() for t in rf.estimators_[:5]], "nodes": [t.tree_.node_count for t in rf.estimators_[:5]]}
