import numpy as np
from scipy import ndimage
def main(args):
    a = np.zeros((7, 7)); a[3, 3] = 1; a[0, 0] = 1
    return [ndimage.gaussian_filter(a, 1)[3].round(9).tolist(), int(ndimage.label(a)[1]), ndimage.center_of_mass(a), ndimage.zoom(np.eye(2), 2, order=1).round(6).tolist()]
