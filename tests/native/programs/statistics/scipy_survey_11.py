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
    P = rng.random((20,2))
    im = rng.integers(0,255,(12,12)).astype(np.uint8); bm = im>120
    answers.append(attempt(lambda: hc.inconsistent(hc.linkage(P[:5]))))
    answers.append(attempt(lambda: hc.fclusterdata(P[:8],.5)))
    answers.append(attempt(lambda: hc.optimal_leaf_ordering(hc.linkage(P[:5]),P[:5])[:,3]))
    answers.append(attempt(lambda: co.c))
    answers.append(attempt(lambda: co.physical_constants['Planck constant'][0]))
    answers.append(attempt(lambda: co.convert_temperature(100,'C','K')))
    answers.append(attempt(lambda: co.find('boltzmann')[:1]))
    answers.append(attempt(lambda: scipy.__version__))
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    answers.append(attempt(lambda: loadmat('a.mat')['x']))
    answers.append(attempt(lambda: loadmat('a.mat')['y']))
    answers.append(attempt(lambda: loadmat('a.mat',simplify_cells=True)['s']))
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    answers.append(attempt(lambda: wavfile.read('a.wav')))
    answers.append(attempt(lambda: mmwrite('a.mtx', mi) or mmread('a.mtx').toarray()))
    answers.append(attempt(lambda: datasets.face().shape))
    return answers
