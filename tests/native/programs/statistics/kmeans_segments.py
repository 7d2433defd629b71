import numpy as np
import pandas as pd
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.metrics import silhouette_score


def main(args):
    rng = np.random.RandomState(5)
    pts = np.vstack([rng.normal(c, 0.4, (40, 2)) for c in ((0, 0), (5, 5), (0, 5))])
    km = KMeans(n_clusters=3, n_init=10, random_state=0).fit(pts)
    df = pd.DataFrame(pts, columns=["x", "y"]).assign(seg=km.labels_)
    db = DBSCAN(eps=1).fit(pts)
    ag = AgglomerativeClustering(3).fit(pts)
    return {"centers": sorted(km.cluster_centers_.round(5).tolist()), "sizes": df.seg.value_counts().sort_index().tolist(), "sil": round(silhouette_score(pts, km.labels_), 6),
            "db": np.unique(db.labels_).tolist(), "labels": km.labels_[::20].tolist(), "ag": ag.labels_[::20].tolist(), "spend": (km.labels_[:50:10].astype(int) * 3_000_000_000).tolist()}
