import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler


def main(args):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(scale=0.3, size=300) > 0.4).astype(int)
    Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, random_state=42, stratify=y)
    scaler = StandardScaler().fit(Xtr)
    model = LogisticRegression().fit(scaler.transform(Xtr), ytr)
    pred = model.predict(scaler.transform(Xte))
    cm = confusion_matrix(yte, pred)
    return {
        "acc": accuracy_score(yte, pred), "cm": cm.tolist(), "cm_dtype": str(cm.dtype), "scaled_cost": (cm * 10**10).tolist(),
        "auc": round(roc_auc_score(yte, model.predict_proba(scaler.transform(Xte))[:, 1]), 6),
        "first": Xte[0].round(6).tolist(), "coef": model.coef_.round(4).tolist(), "n_iter_type": type(model.n_iter_[0]).__name__[:3],
    }
