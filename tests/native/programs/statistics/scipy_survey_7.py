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
    answers.append(attempt(lambda: nd.sum(im,*nd.label(bm),[1,2])))
    answers.append(attempt(lambda: nd.center_of_mass(im)))
    answers.append(attempt(lambda: nd.find_objects(nd.label(bm)[0])[:2]))
    answers.append(attempt(lambda: nd.binary_erosion(bm).sum()*10**10))
    answers.append(attempt(lambda: nd.binary_dilation(bm).sum()))
    answers.append(attempt(lambda: nd.binary_fill_holes(bm).sum()))
    answers.append(attempt(lambda: nd.binary_opening(bm).sum()))
    answers.append(attempt(lambda: nd.median_filter(im,3)[:2]))
    answers.append(attempt(lambda: nd.uniform_filter(im,3)[:2]))
    answers.append(attempt(lambda: nd.maximum_filter(im,3)[:2]))
    answers.append(attempt(lambda: nd.sobel(im.astype(float))[:2]))
    answers.append(attempt(lambda: nd.rotate(im,30,reshape=False)[:2]))
    answers.append(attempt(lambda: nd.zoom(im,.5)))
    answers.append(attempt(lambda: nd.shift(im,1.5)[:2]))
    answers.append(attempt(lambda: nd.affine_transform(im,[[1,.1],[0,1]])[:2]))
    answers.append(attempt(lambda: nd.map_coordinates(im,[[1.5],[2.5]])))
    answers.append(attempt(lambda: nd.distance_transform_edt(bm)[:2]))
    answers.append(attempt(lambda: nd.distance_transform_cdt(bm)[:2]))
    answers.append(attempt(lambda: nd.convolve(im,np.ones((2,2)))[:2]))
    answers.append(attempt(lambda: nd.convolve(im.astype(int)*10**9,np.ones((2,2),int))[:2]))
    answers.append(attempt(lambda: nd.correlate1d(im.astype(int),[10**9,1])[:2]))
    answers.append(attempt(lambda: nd.histogram(im,0,255,4)))
    answers.append(attempt(lambda: nd.mean(im,bm)))
    answers.append(attempt(lambda: nd.variance(im)))
    answers.append(attempt(lambda: nd.maximum_position(im)))
    answers.append(attempt(lambda: nd.extrema(im)))
    answers.append(attempt(lambda: nd.watershed_ift(im,nd.label(bm)[0].astype(np.int16))[:2]))
    answers.append(attempt(lambda: nd.generic_filter(im,np.ptp,3)[:2]))
    answers.append(attempt(lambda: nd.percentile_filter(im,30,3)[:2]))
    answers.append(attempt(lambda: nd.rank_filter(im,2,3)[:2]))
    answers.append(attempt(lambda: nd.grey_opening(im,3)[:2]))
    answers.append(attempt(lambda: nd.white_tophat(im,3)[:2]))
    answers.append(attempt(lambda: nd.morphological_gradient(im,3)[:2]))
    answers.append(attempt(lambda: nd.fourier_gaussian(np.fft.fft2(im),1)[0,:2]))
    answers.append(attempt(lambda: nd.spline_filter(im.astype(float))[0,:3]))
    answers.append(attempt(lambda: nd.labeled_comprehension(im,nd.label(bm)[0],[1],np.sum,int,0)))
    answers.append(attempt(lambda: nd.generate_binary_structure(2,2)))
    savemat('a.mat', {'x': np.arange(5)*10**9, 'y': 'text', 's': {'a': 1}})
    wavfile.write('a.wav', 8000, (y*3000).astype(np.int16))
    return answers
