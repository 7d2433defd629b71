# refused: MemoryError|ValueError|OverflowError: memory_bytes
import numpy as np
def main(args):
    return np.zeros((20000, 20000)).sum()
