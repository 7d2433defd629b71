from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
def main(args):
    X, y = load_breast_cancer(return_X_y=True)
    m = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X, y)
    return round(m.score(X, y), 6)
