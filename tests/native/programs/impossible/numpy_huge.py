# refused: MemoryError: 
import numpy as np
np.ones((100000, 100000))
