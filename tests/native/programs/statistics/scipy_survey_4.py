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
    answers.append(attempt(lambda: sg.fftconvolve([1,2],[3,4])))
    answers.append(attempt(lambda: sg.correlate([1,2,3],[0,1,.5])))
    answers.append(attempt(lambda: sg.correlate([1,2],[3*10**9,4])))
    answers.append(attempt(lambda: sg.convolve2d([[1,2],[3,4]],[[1,1]])))
    answers.append(attempt(lambda: sg.resample(y,10)[:3]))
    answers.append(attempt(lambda: sg.decimate(y,3)[:3]))
    answers.append(attempt(lambda: sg.resample_poly(y,2,3)[:3]))
    answers.append(attempt(lambda: sg.firwin(5,.3)))
    answers.append(attempt(lambda: sg.windows.hann(5)))
    answers.append(attempt(lambda: sg.windows.kaiser(5,3)))
    answers.append(attempt(lambda: sg.chirp([0,1],1,1,5)))
    answers.append(attempt(lambda: sg.square([0,1,4])))
    answers.append(attempt(lambda: sg.sawtooth([0,1])))
    answers.append(attempt(lambda: sg.gausspulse([0,.1])))
    answers.append(attempt(lambda: sg.unit_impulse(3)))
    answers.append(attempt(lambda: sg.max_len_seq(3)[0]))
    answers.append(attempt(lambda: sg.cheby1(2,1,.3)))
    answers.append(attempt(lambda: sg.ellip(2,1,40,.3)))
    answers.append(attempt(lambda: sg.bessel(2,.3)))
    answers.append(attempt(lambda: sg.iirnotch(.2,30)))
    answers.append(attempt(lambda: sg.lti([1],[1,1]).step()[1][:3]))
    answers.append(attempt(lambda: sg.dlti([1],[1,-.5]).impulse(n=3)[1]))
    answers.append(attempt(lambda: sg.coherence(y,x,nperseg=16)[1][:3]))
    answers.append(attempt(lambda: sg.lombscargle(x,y,[1.,2.])))
    answers.append(attempt(lambda: sg.remez(5,[0,.1,.2,.5],[1,0])))
    answers.append(attempt(lambda: sg.upfirdn([1,1],[1,2,3],2)))
    answers.append(attempt(lambda: sg.choose_conv_method(y,y)))
    answers.append(attempt(lambda: sg.group_delay((b,a),3)[1]))
    answers.append(attempt(lambda: sg.deconvolve([1,5,6],[1,2])))
    answers.append(attempt(lambda: sg.oaconvolve([1,2],[3,4])))
    answers.append(attempt(lambda: sg.vectorstrength([.1,.2],1)))
    answers.append(attempt(lambda: sg.bilinear([1],[1,1])))
    answers.append(attempt(lambda: sg.cont2discrete(([1],[1,1]),.1)[0]))
    answers.append(attempt(lambda: sg.place_poles(np.array([[0,1],[0,0]]),np.array([[0],[1]]),[-1,-2]).gain_matrix))
    m = sp.random(20,20,.2,random_state=1,format='csr'); mi = sp.csr_matrix((np.array([10**10,5,7]),([0,0,2],[1,1,2])),shape=(3,3))
    P = rng.random((20,2))
    im = rng.integers(0,255,(12,12)).astype(np.uint8); bm = im>120
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
