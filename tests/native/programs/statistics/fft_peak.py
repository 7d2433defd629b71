import numpy as np
def main(args):
    t = np.arange(256) / 256
    s = np.abs(np.fft.rfft(np.sin(2 * np.pi * 12 * t) + .5 * np.sin(2 * np.pi * 40 * t)))
    return [int(np.argmax(s)), np.argsort(s)[-2:].tolist(), s[[12, 40]].tolist()]
