# refused: MemoryError|ValueError|OverflowError: memory_bytes
import numpy as np
np.ones((100000, 100000))
