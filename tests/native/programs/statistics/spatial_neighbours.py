import numpy as np
from scipy.spatial import ConvexHull, Delaunay, KDTree, distance
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors


def main(args):
    rng = np.random.default_rng(8)
    p = rng.random((60, 2))
    tree = KDTree(p)
    d, i = tree.query(p[:3], k=3)
    hull = ConvexHull(p)
    nn = NearestNeighbors(n_neighbors=2).fit(p)
    g = nn.kneighbors_graph(p).sum()
    return {"i": i.tolist(), "keys": (i * 10**10).max().item(), "idt": i.dtype.kind, "d": d.round(9).tolist(), "hull": sorted(hull.vertices.tolist()), "area": hull.volume, "tri": len(Delaunay(p).simplices), "pairs": len(tree.query_pairs(0.1)),
            "cd": distance.cdist(p[:2], p[2:4], "cityblock").round(9).tolist(), "ball": sorted(tree.query_ball_point([0.5, 0.5], 0.15)), "knn": KNeighborsClassifier(3).fit(p, p[:, 0] > 0.5).predict(p[:5]).tolist(), "g": float(g)}
