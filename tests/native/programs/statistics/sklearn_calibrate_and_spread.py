import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.covariance import EmpiricalCovariance, LedoitWolf
from sklearn.cross_decomposition import CCA, PLSRegression
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.utils import class_weight, resample, shuffle


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
    part = np.where(np.arange(150) % 5, -1, y)
    answers.append(attempt(lambda: CalibratedClassifierCV(GaussianNB(), cv=3).fit(X, y).predict_proba(X[:2]).round(4)))
    answers.append(attempt(lambda: calibration_curve([0, 0, 1, 1, 1], [0.1, 0.4, 0.35, 0.8, 0.9], n_bins=2)))
    answers.append(attempt(lambda: "".join(map(str, LabelPropagation().fit(X, part).transduction_))))
    answers.append(attempt(lambda: "".join(map(str, LabelSpreading().fit(X, part).transduction_))))
    answers.append(attempt(lambda: PLSRegression(2).fit(X, y).predict(X[:3]).round(7)))
    answers.append(attempt(lambda: np.abs(CCA(1).fit(X[:, :2], X[:, 2:]).transform(X[:3])).round(5)))
    answers.append(attempt(lambda: EmpiricalCovariance().fit(X).covariance_))
    answers.append(attempt(lambda: LedoitWolf().fit(X).shrinkage_))
    answers.append(attempt(lambda: class_weight.compute_class_weight("balanced", classes=np.unique(part), y=part)))
    answers.append(attempt(lambda: shuffle(np.arange(8), random_state=3)))
    answers.append(attempt(lambda: resample(np.arange(8), random_state=3)))
    answers.append(attempt(lambda: resample(np.arange(8), replace=False, n_samples=3, random_state=3, stratify=[0, 1] * 4)))
    return answers
