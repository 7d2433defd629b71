import numpy as np
from scipy import fft, ndimage, signal


def main(args):
    t = np.arange(256) / 256
    x = np.sin(2 * np.pi * 10 * t) + 0.5 * np.sin(2 * np.pi * 40 * t)
    spec = np.abs(np.fft.rfft(x))
    peaks, props = signal.find_peaks(x, height=1)
    b, a = signal.butter(3, 0.2)
    y = signal.filtfilt(b, a, x)
    lab, n = ndimage.label(np.array([[1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1]]))
    sizes = ndimage.sum_labels(np.ones((3, 4)), lab, range(1, n + 1))
    return {"top": sorted(np.argsort(spec)[-2:].tolist()), "peaks": peaks.tolist(), "npk": len(peaks) * 10**10, "y": y[:3].round(9).tolist(), "n": n, "lab": lab.tolist(), "labdt": str(lab.dtype), "sizes": sizes.tolist(),
            "com": [list(map(float, c)) for c in ndimage.center_of_mass(np.ones((3, 4)), lab, [1, 2])], "dct": fft.dct([1.0, 2, 3]).round(9).tolist(), "conv": signal.fftconvolve([1, 2, 3], [0, 1, 0.5]).round(9).tolist(),
            "med": signal.medfilt([1, 9, 2, 8, 3]).tolist(), "corr": int(signal.correlate([10**6, 2], [10**6, 1]).max()), "hist": ndimage.histogram(np.arange(10), 0, 9, 3).tolist(), "bl": signal.savgol_filter([1, 2, 9, 4, 5], 3, 1).round(9).tolist()}
