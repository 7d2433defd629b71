"""Numerics: the parts of scipy that programs use most."""

import numpy
import scipy
import scipy.cluster.hierarchy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.special
import scipy.stats


def use_scipy():
    """Solves one small problem of each kind."""
    x = numpy.linspace(0, 5, 20)
    y = 2 * numpy.exp(-0.5 * x)
    scipy.optimize.curve_fit(lambda x, a, k: a * numpy.exp(-k * x), x, y)
    scipy.optimize.minimize(lambda p: (p[0] - 1) ** 2 + p[1] ** 2, [0.0, 0.5])
    scipy.optimize.linprog([1, 2], A_ub=[[-1, -1]], b_ub=[-1])
    scipy.optimize.brentq(lambda x: x**2 - 2, 0, 2)
    scipy.integrate.quad(lambda x: x**2, 0, 1)
    scipy.integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
    scipy.interpolate.CubicSpline(x, y)(1.5)
    scipy.linalg.solve(numpy.eye(3) * 2, numpy.ones(3))
    scipy.fft.rfft(y)
    scipy.signal.savgol_filter(y, 5, 2)
    scipy.signal.find_peaks(numpy.sin(x))
    scipy.spatial.distance.cdist([[0, 0]], [[1, 1]])
    scipy.sparse.linalg.spsolve(scipy.sparse.eye_array(3, format="csc"), numpy.ones(3))
    scipy.stats.ttest_ind(x, y)
    scipy.stats.pearsonr(x, y)
    scipy.stats.norm(0, 1).ppf(0.975)
    scipy.stats.linregress(x, y)


use_scipy()
