from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV


def main(args):
    X, y = load_wine(return_X_y=True)
    grid = GridSearchCV(RandomForestClassifier(random_state=3), {"n_estimators": [5, 10], "max_depth": [2, None]}, cv=3, n_jobs=-1)
    grid.fit(X, y)
    return {"best": grid.best_params_, "score": round(grid.best_score_, 6), "ranks": grid.cv_results_["rank_test_score"].tolist()}
