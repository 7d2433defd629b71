import numpy as np
from sklearn.cluster import KMeans
def main(args):
    X = np.array([[1, 1], [1.1, 1], [5, 5], [5.1, 5.2], [9, 1], [9.2, 1.1]])
    m = KMeans(n_clusters=3, n_init=5, random_state=0).fit(X)
    return {"centers": sorted(m.cluster_centers_.round(6).tolist()), "inertia": round(float(m.inertia_), 8)}
