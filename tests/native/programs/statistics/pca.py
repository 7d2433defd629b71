import numpy as np
from sklearn.decomposition import PCA
from sklearn.datasets import load_wine
def main(args):
    X = load_wine().data
    p = PCA(2).fit(X)
    return p.explained_variance_ratio_.round(8).tolist()
