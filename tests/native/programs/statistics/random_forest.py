from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
def main(args):
    X, y = load_iris(return_X_y=True)
    a, b, c, d = train_test_split(X, y, test_size=0.3, random_state=1)
    m = RandomForestClassifier(n_estimators=20, random_state=1).fit(a, c)
    return {"acc": m.score(b, d), "imp": m.feature_importances_.round(6).tolist()}
