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
    answers.append(attempt(lambda: ss.gamma(5.5)))
    answers.append(attempt(lambda: ss.gammaln(100)))
    answers.append(attempt(lambda: ss.beta(2,3)))
    answers.append(attempt(lambda: ss.betainc(2,3,.4)))
    answers.append(attempt(lambda: ss.erf(.5)))
    answers.append(attempt(lambda: ss.erfinv(.5)))
    answers.append(attempt(lambda: ss.erfc(3)))
    answers.append(attempt(lambda: ss.jv(1,2.5)))
    answers.append(attempt(lambda: ss.yv(0,1)))
    answers.append(attempt(lambda: ss.iv(1,2)))
    answers.append(attempt(lambda: ss.kv(1,2)))
    answers.append(attempt(lambda: ss.ellipk(.5)))
    answers.append(attempt(lambda: ss.zeta(3)))
    answers.append(attempt(lambda: ss.digamma(2.5)))
    answers.append(attempt(lambda: ss.polygamma(1,2)))
    answers.append(attempt(lambda: ss.expit(.3)))
    answers.append(attempt(lambda: ss.logit(.3)))
    answers.append(attempt(lambda: ss.logsumexp([1,2,1000])))
    answers.append(attempt(lambda: ss.softmax([1,2,3])))
    answers.append(attempt(lambda: ss.comb(50,25)))
    answers.append(attempt(lambda: ss.comb(50,25,exact=True)))
    answers.append(attempt(lambda: ss.comb(70,35,exact=True)))
    answers.append(attempt(lambda: ss.perm(20,10,exact=True)))
    answers.append(attempt(lambda: ss.factorial(20)))
    answers.append(attempt(lambda: ss.factorial(20,exact=True)))
    answers.append(attempt(lambda: ss.factorial(25,exact=True)))
    answers.append(attempt(lambda: ss.factorial([5,20],exact=True)))
    answers.append(attempt(lambda: ss.factorial2(15,exact=True)))
    answers.append(attempt(lambda: ss.factorialk(15,3,exact=True)))
    answers.append(attempt(lambda: ss.binom(10,3)))
    answers.append(attempt(lambda: ss.lambertw(1)))
    answers.append(attempt(lambda: ss.airy(1)))
    answers.append(attempt(lambda: ss.hyp2f1(1,2,3,.5)))
    answers.append(attempt(lambda: ss.hyp1f1(1,2,.5)))
    answers.append(attempt(lambda: ss.expi(1)))
    answers.append(attempt(lambda: ss.exp1(1)))
    answers.append(attempt(lambda: ss.sici(1)))
    answers.append(attempt(lambda: ss.fresnel(1)))
    answers.append(attempt(lambda: ss.legendre(3).coef))
    answers.append(attempt(lambda: ss.eval_hermite(3,.5)))
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
