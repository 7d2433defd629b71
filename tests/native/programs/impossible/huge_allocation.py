# refused: MemoryError|ValueError: memory
import numpy as np

a = np.ones((50000, 50000))
print(a.sum())
