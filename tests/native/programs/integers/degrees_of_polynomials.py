# script
import numpy as np
from scipy import special

for degree in (5, 40, 100, 1000, 5000):
    print(degree, special.eval_laguerre(degree, 0.5), special.eval_legendre(degree, 0.3))
print(special.eval_genlaguerre(200, 0.5, 2), special.eval_chebyt(np.array([10, 5000]), 0.3))
print(special.bdtr(3, 10, 0.3), special.kn(2, 1.5), special.expn(3, 0.5), special.pdtr(3, 2.0))
print(special.eval_legendre, isinstance(special.eval_legendre, np.ufunc), special.eval_legendre.nin)
print(special.eval_legendre.outer([1, 2], [0.1, 0.2]), special.eval_legendre(2.5, 0.3))
print(special.legendre(20)(0.3), special.roots_legendre(30)[0][0])
