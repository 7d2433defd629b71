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
    answers.append(attempt(lambda: m.sum()))
    answers.append(attempt(lambda: m.nnz*10**10))
    answers.append(attempt(lambda: mi.toarray()))
    answers.append(attempt(lambda: mi.sum()))
    answers.append(attempt(lambda: mi.dot([1,2,3])))
    answers.append(attempt(lambda: (mi@mi).toarray()))
    answers.append(attempt(lambda: mi.T.tocoo().row))
    answers.append(attempt(lambda: mi.max()))
    answers.append(attempt(lambda: mi.mean()))
    answers.append(attempt(lambda: mi.multiply(2).toarray()))
    answers.append(attempt(lambda: sp.kron(mi,mi).sum()))
    answers.append(attempt(lambda: sp.vstack([mi,mi]).shape))
    answers.append(attempt(lambda: sp.diags([1,2,3]).toarray()))
    answers.append(attempt(lambda: sp.eye(3).tocsc().indptr))
    answers.append(attempt(lambda: mi.getnnz(0)*10**10))
    answers.append(attempt(lambda: mi.tolil().rows.tolist()))
    answers.append(attempt(lambda: mi.todok().get((0,1))))
    answers.append(attempt(lambda: mi.count_nonzero()))
    answers.append(attempt(lambda: sp.block_diag([mi,mi]).sum()))
    answers.append(attempt(lambda: m.astype(int).sum()))
    answers.append(attempt(lambda: (mi*3).sum()))
    answers.append(attempt(lambda: (mi+mi).toarray()))
    answers.append(attempt(lambda: mi[0].toarray()))
    answers.append(attempt(lambda: mi.indices.dtype))
    answers.append(attempt(lambda: mi.data.dtype))
    answers.append(attempt(lambda: (mi>5).toarray()))
    answers.append(attempt(lambda: sp.tril(mi).sum()))
    answers.append(attempt(lambda: sp.find(mi)))
    answers.append(attempt(lambda: mi.diagonal()))
    answers.append(attempt(lambda: mi.trace()))
    answers.append(attempt(lambda: sp.csr_array([[1,2],[3,4]]).sum(axis=0)*10**10))
    answers.append(attempt(lambda: sp.coo_matrix(([1,1,1],([0,0,1],[0,0,1]))).toarray()*10**10))
    answers.append(attempt(lambda: sp.csr_matrix(np.eye(3,dtype=bool)).sum()))
    answers.append(attempt(lambda: sla.spsolve(sp.eye(20,format='csc')*2+m.tocsc(),np.ones(20))[:3]))
    answers.append(attempt(lambda: np.sort(sla.eigsh(m@m.T,k=3,return_eigenvectors=False,v0=np.ones(20)))))
    answers.append(attempt(lambda: np.sort(sla.svds(m,k=2,v0=np.ones(20))[1])))
    answers.append(attempt(lambda: sla.cg(sp.eye(20)*3+m@m.T,np.ones(20))[0][:3]))
    answers.append(attempt(lambda: sla.gmres(sp.eye(20)*3+m,np.ones(20))[0][:3]))
    answers.append(attempt(lambda: sla.norm(m)))
    P = rng.random((20,2))
    im = rng.integers(0,255,(12,12)).astype(np.uint8); bm = im>120
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
