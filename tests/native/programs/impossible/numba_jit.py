# refused: ModuleNotFoundError: numpy
from numba import njit


@njit
def f(x):
    return x + 1


print(f(1))
