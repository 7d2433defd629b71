import numpy as np, scipy
from scipy import optimize as op, integrate as ig, interpolate as ip, linalg as la, signal as sg, sparse as sp, spatial as spa, ndimage as nd, special as ss, fft as sf, cluster as cl, constants as co
from scipy.sparse import linalg as sla, csgraph
import scipy.cluster.hierarchy as hc, scipy.cluster.vq as vq
from scipy.io import savemat, loadmat, wavfile, mmwrite, mmread
from scipy import datasets


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
    rng = np.random.default_rng(0); x = np.linspace(0, 10, 50); y = np.sin(x)
    for m in ['RK45','RK23','DOP853','Radau','BDF','LSODA']:
        pass
    A = rng.random((4,4)); S = A@A.T
    b, a = sg.butter(3, .2)
    m = sp.random(20,20,.2,random_state=1,format='csr'); mi = sp.csr_matrix((np.array([10**10,5,7]),([0,0,2],[1,1,2])),shape=(3,3))
    answers.append(attempt(lambda: sla.expm(m.tocsc())[:2,:2].toarray()))
    answers.append(attempt(lambda: sla.inv(sp.csc_matrix(np.eye(2)*2)).toarray()))
    answers.append(attempt(lambda: sla.splu(sp.csc_matrix(np.array([[2.,1],[1,3]]))).perm_r))
    answers.append(attempt(lambda: sla.onenormest(m)))
    answers.append(attempt(lambda: csgraph.dijkstra(m,indices=0)[:5]))
    answers.append(attempt(lambda: csgraph.shortest_path(mi.astype(float))))
    answers.append(attempt(lambda: csgraph.connected_components(m)))
    answers.append(attempt(lambda: csgraph.minimum_spanning_tree(m).sum()))
    answers.append(attempt(lambda: csgraph.breadth_first_order(m,0)[0]*10**10))
    answers.append(attempt(lambda: csgraph.bellman_ford(m,indices=0)[:4]))
    answers.append(attempt(lambda: csgraph.floyd_warshall(m)[0,:4]))
    answers.append(attempt(lambda: csgraph.laplacian(m).sum().round(8)))
    answers.append(attempt(lambda: csgraph.maximum_flow(sp.csr_matrix([[0,3,0],[0,0,2],[0,0,0]]),0,2).flow_value))
    answers.append(attempt(lambda: csgraph.maximum_bipartite_matching(m)))
    answers.append(attempt(lambda: csgraph.structural_rank(m)))
    P = rng.random((20,2))
    answers.append(attempt(lambda: spa.distance.cdist(P[:2],P[2:4])))
    answers.append(attempt(lambda: spa.distance.pdist(P[:4],'cityblock')))
    answers.append(attempt(lambda: [getattr(spa.distance,n)([1,2,3],[3,2,5]) for n in ['euclidean','cosine','correlation','chebyshev','canberra','braycurtis','cityblock','sqeuclidean','hamming','jensenshannon']]))
    answers.append(attempt(lambda: spa.ConvexHull(P).vertices*10**10))
    answers.append(attempt(lambda: spa.ConvexHull(P).volume))
    answers.append(attempt(lambda: spa.Delaunay(P).simplices.shape))
    answers.append(attempt(lambda: spa.Voronoi(P).vertices[:2]))
    answers.append(attempt(lambda: spa.distance.squareform([1,2,3])))
    answers.append(attempt(lambda: spa.procrustes(P[:5],P[5:10])[2]))
    answers.append(attempt(lambda: spa.transform.Rotation.from_euler('xyz',[10,20,30],degrees=True).as_quat()))
    answers.append(attempt(lambda: spa.transform.Slerp([0,1],spa.transform.Rotation.from_euler('z',[0,90],degrees=True))(.5).as_matrix()))
    answers.append(attempt(lambda: spa.distance.mahalanobis([1,2],[2,3],np.eye(2))))
    answers.append(attempt(lambda: spa.geometric_slerp([1,0],[0,1],[.5])))
    answers.append(attempt(lambda: spa.distance.directed_hausdorff(P[:5],P[5:])))
    answers.append(attempt(lambda: spa.SphericalVoronoi(np.eye(3).tolist()+(-np.eye(3)).tolist()).calculate_areas()))
    answers.append(attempt(lambda: spa.tsearch(spa.Delaunay(P),[[.5,.5]]) >= 0))
    answers.append(attempt(lambda: spa.HalfspaceIntersection(np.array([[-1,0,0],[0,-1,0],[1,1,-1.]]),np.array([.2,.2])).intersections.shape))
    im = rng.integers(0,255,(12,12)).astype(np.uint8); bm = im>120
    answers.append(attempt(lambda: nd.gaussian_filter(im.astype(float),1)[:2,:2]))
    answers.append(attempt(lambda: nd.gaussian_filter(im,1)[:2]))
    answers.append(attempt(lambda: nd.label(bm)))
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
