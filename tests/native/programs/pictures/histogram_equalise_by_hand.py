import numpy as np


def main(args):
    rng = np.random.default_rng(0)
    img = rng.normal(90, 15, (50, 60)).clip(0, 255).astype(np.uint8)
    hist = np.bincount(img.ravel(), minlength=256)
    cdf = hist.cumsum()
    masked = np.ma.masked_equal(cdf, 0)
    lut = np.ma.filled((masked - masked.min()) * 255 / (masked.max() - masked.min()), 0).astype(np.uint8)
    eq = lut[img]
    otsu = max(range(1, 256), key=lambda t: (lambda w0, w1, m0, m1: w0 * w1 * (m0 - m1) ** 2)(hist[:t].sum(), hist[t:].sum(), (hist[:t] * np.arange(t)).sum() / max(hist[:t].sum(), 1), (hist[t:] * np.arange(t, 256)).sum() / max(hist[t:].sum(), 1)))
    integral = img.astype(int).cumsum(0).cumsum(1)
    return {"hist": hist[80:90].tolist(), "eq": int(eq.sum()), "otsu": otsu, "int": int(integral[-1, -1]), "isq": int((integral**2).sum()), "moment": int((hist * np.arange(256) ** 4).sum()), "entropy": float(-(hist[hist > 0] / img.size * np.log2(hist[hist > 0] / img.size)).sum())}
