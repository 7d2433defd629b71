"""Fits a classifier on 200 rows with scikit-learn and scores it."""

import numpy as np
from sklearn.linear_model import LogisticRegression


def main(args):
    number = np.arange(800)
    features = (number * 7919 % 1009 / 1009).reshape(200, 4)
    classes = (features.sum(axis=1) > 2).astype(int)
    model = LogisticRegression().fit(features, classes)
    return {"accuracy": round(float(model.score(features, classes)), 3)}
