import numpy as np
from sklearn import metrics


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
    true = [0, 1, 1, 0, 1, 0]
    guess = [0, 1, 0, 0, 1, 1]
    scores = [0.1, 0.9, 0.4, 0.2, 0.8, 0.6]
    answers.append(attempt(lambda: metrics.confusion_matrix(true, guess)))
    answers.append(attempt(lambda: metrics.confusion_matrix(true, guess) * 10**10))
    answers.append(attempt(lambda: metrics.confusion_matrix(true, guess, normalize="true")))
    answers.append(attempt(lambda: metrics.classification_report(true, guess)))
    answers.append(attempt(lambda: metrics.classification_report(true, guess, output_dict=True)))
    answers.append(attempt(lambda: metrics.f1_score(true, guess)))
    answers.append(attempt(lambda: metrics.precision_recall_fscore_support(true, guess)[:3]))
    answers.append(attempt(lambda: metrics.precision_recall_fscore_support(true, guess)[3] * 10**10))
    answers.append(attempt(lambda: metrics.roc_auc_score(true, scores)))
    answers.append(attempt(lambda: metrics.roc_curve(true, scores)))
    answers.append(attempt(lambda: metrics.precision_recall_curve(true, scores)))
    answers.append(attempt(lambda: metrics.log_loss(true, scores)))
    answers.append(attempt(lambda: metrics.matthews_corrcoef(true, guess)))
    answers.append(attempt(lambda: metrics.cohen_kappa_score(true, guess)))
    answers.append(attempt(lambda: metrics.average_precision_score(true, scores)))
    answers.append(attempt(lambda: metrics.brier_score_loss(true, scores)))
    answers.append(attempt(lambda: metrics.hamming_loss(true, guess)))
    answers.append(attempt(lambda: metrics.jaccard_score(true, guess)))
    answers.append(attempt(lambda: metrics.balanced_accuracy_score(true, guess)))
    answers.append(attempt(lambda: metrics.top_k_accuracy_score([0, 1, 2], np.eye(3))))
    answers.append(attempt(lambda: metrics.accuracy_score(true, guess, normalize=False) * 10**10))
    answers.append(attempt(lambda: metrics.det_curve(true, scores)))
    answers.append(attempt(lambda: metrics.multilabel_confusion_matrix(true, guess).tolist()))
    answers.append(attempt(lambda: metrics.zero_one_loss(true, guess)))
    answers.append(attempt(lambda: metrics.hinge_loss(true, [-1, 1, 1, -1, 1, -1])))
    answers.append(attempt(lambda: metrics.ndcg_score([[1, 2, 3]], [[1, 3, 2]])))
    return answers
