# script
import numpy as np
np.set_printoptions(precision=3)
print(np.arange(12).reshape(3, 4) / 7)
print(np.array([1, 10**10]), np.array([True]), np.array(["a"]))
