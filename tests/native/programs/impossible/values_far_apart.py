# refused: MemoryError: Couldn't allocate hist
import numpy as np
from scipy import ndimage


def main():
    return len(ndimage.value_indices(np.array([0, 2**32])))
