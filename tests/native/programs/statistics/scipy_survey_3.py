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
    answers.append(attempt(lambda: la.block_diag([1],[2])))
    answers.append(attempt(lambda: la.orth(A).shape))
    answers.append(attempt(lambda: la.solve_triangular(np.tril(A),[1,2,3,4],lower=True)))
    answers.append(attempt(lambda: la.eigh(S)[0]))
    answers.append(attempt(lambda: la.hessenberg(S)[:2]))
    answers.append(attempt(lambda: la.polar(A)[1]))
    answers.append(attempt(lambda: la.funm(S,np.exp)))
    answers.append(attempt(lambda: la.companion([1,2,3])))
    answers.append(attempt(lambda: la.hadamard(4)))
    answers.append(attempt(lambda: la.pascal(5)))
    answers.append(attempt(lambda: la.invpascal(4)))
    answers.append(attempt(lambda: la.solve_sylvester(A,A,A)))
    answers.append(attempt(lambda: la.solve_continuous_lyapunov(A,S)))
    answers.append(attempt(lambda: la.bandwidth(np.tril(A))))
    answers.append(attempt(lambda: la.ldl(S)[1]))
    answers.append(attempt(lambda: la.subspace_angles(A[:,:2],A[:,2:])))
    answers.append(attempt(lambda: la.cosm(A)))
    answers.append(attempt(lambda: la.eig_banded([[1,2,3],[.1,.1,0]],lower=True)[0]))
    answers.append(attempt(lambda: la.lstsq(A,[1,2,3,4])[0]))
    b, a = sg.butter(3, .2)
    answers.append(attempt(lambda: b))
    answers.append(attempt(lambda: a))
    answers.append(attempt(lambda: sg.filtfilt(b,a,y)[:5]))
    answers.append(attempt(lambda: sg.lfilter(b,a,y)[:5]))
    answers.append(attempt(lambda: sg.sosfilt(sg.butter(3,.2,output='sos'),y)[:5]))
    answers.append(attempt(lambda: sg.find_peaks(y)[0]*10**10))
    answers.append(attempt(lambda: sg.find_peaks(y,height=.5,distance=5)[1]))
    answers.append(attempt(lambda: sg.peak_prominences(y,sg.find_peaks(y)[0])[0]))
    answers.append(attempt(lambda: sg.savgol_filter(y,7,2)[:4]))
    answers.append(attempt(lambda: sg.medfilt(y,5)[:4]))
    answers.append(attempt(lambda: sg.wiener(y)[:4]))
    answers.append(attempt(lambda: sg.detrend(y)[:3]))
    answers.append(attempt(lambda: sg.welch(y,nperseg=16)[1][:4]))
    answers.append(attempt(lambda: sg.periodogram(y)[1][:4]))
    answers.append(attempt(lambda: sg.spectrogram(y,nperseg=16)[2][:2,0]))
    answers.append(attempt(lambda: sg.convolve([1,2,3],[10**10,1])))
    answers.append(attempt(lambda: sg.convolve([1,2],[1,2],method='fft')))
    m = sp.random(20,20,.2,random_state=1,format='csr'); mi = sp.csr_matrix((np.array([10**10,5,7]),([0,0,2],[1,1,2])),shape=(3,3))
    P = rng.random((20,2))
    im = rng.integers(0,255,(12,12)).astype(np.uint8); bm = im>120
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
