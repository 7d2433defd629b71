# script
import numpy as np

prices = np.array([10.5, np.nan, 7.25])
cents = (prices * 100).astype(int)
print(cents)
print(cents.min())
