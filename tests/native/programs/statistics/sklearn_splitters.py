import numpy as np
from sklearn import model_selection as ms


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
    x = np.arange(20)
    labels = np.array([0, 1] * 10)
    answers.append(attempt(lambda: ms.train_test_split(x, random_state=3, test_size=0.3)))
    answers.append(attempt(lambda: ms.train_test_split(x, labels, stratify=labels, random_state=3)))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.KFold(3, shuffle=True, random_state=1).split(x[:7])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.StratifiedKFold(2, shuffle=True, random_state=1).split(x[:8], labels[:8])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.ShuffleSplit(2, random_state=1).split(x[:5])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.TimeSeriesSplit(2).split(x[:6])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.GroupKFold(2).split(x[:6], groups=[1, 1, 2, 2, 3, 3])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.RepeatedKFold(n_splits=2, n_repeats=2, random_state=1).split(x[:5])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.LeaveOneOut().split(x[:3])]))
    answers.append(attempt(lambda: [[a.tolist(), b.tolist()] for a, b in ms.StratifiedShuffleSplit(2, random_state=4).split(x, labels)]))
    answers.append(attempt(lambda: [int(train.sum()) * 10**10 for train, test in ms.KFold(4).split(x)]))
    return answers
