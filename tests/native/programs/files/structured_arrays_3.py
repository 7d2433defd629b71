import numpy as np, io
import numpy.lib.recfunctions as rf
import os
import pickle


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    dt = np.dtype([('name','U10'),('age','i4'),('w','f8'),('n', int),('sub',[('x','i2'),('y','?')])])
    a = np.array([('ann', 3, 1.5, 2**40, (1,True)), ('bob', 5, 2.5, 7, (2,False))], dtype=dt)
    r = a.view(np.recarray)
    def rt(x, **k):
        b = io.BytesIO(); np.save(b, x, **k); return b.getvalue()
    np.savez('x.npz', a=np.arange(3), b=a)
    np.savez_compressed('y.npz', np.arange(100))
    np.savetxt('t.txt', np.array([[1.5,2],[3,4]]), fmt='%.3f', header='h', delimiter=';')
    np.savetxt('t2.txt', np.arange(4), fmt='%d')
    m = np.memmap('m.bin', dtype=int, mode='w+', shape=(3,4)); m[:] = np.arange(12).reshape(3,4)*10**10; m.flush()
    answers.append(attempt(lambda: np.roots([1,-6,11,-6])))
    answers.append(attempt(lambda: np.polynomial.Polynomial([1,2,3]).deriv().coef))
    answers.append(attempt(lambda: np.polynomial.chebyshev.chebfit([1,2,3,4],[1,4,9,16],2)))
    answers.append(attempt(lambda: np.polynomial.legendre.leggauss(3)))
    answers.append(attempt(lambda: np.fft.fft([1,2,3,4])))
    answers.append(attempt(lambda: np.fft.rfft(np.arange(5))))
    answers.append(attempt(lambda: np.fft.ifft2(np.arange(6).reshape(2,3))))
    answers.append(attempt(lambda: np.fft.fftfreq(5, .1)))
    answers.append(attempt(lambda: np.fft.fftshift(np.arange(5))))
    answers.append(attempt(lambda: np.fft.hfft([1,2,3])))
    answers.append(attempt(lambda: np.linalg.det([[1,2],[3,4]])))
    answers.append(attempt(lambda: np.linalg.inv([[1,2],[3,4]])))
    answers.append(attempt(lambda: np.linalg.matrix_power(np.array([[1,1],[1,0]]), 80)))
    answers.append(attempt(lambda: np.linalg.solve([[3,1],[1,2]],[9,8])))
    answers.append(attempt(lambda: np.linalg.lstsq([[1,1],[1,2],[1,3]],[1,2,2.5])[0]))
    answers.append(attempt(lambda: np.linalg.eigvalsh([[2,1],[1,3]])))
    answers.append(attempt(lambda: np.linalg.svd([[1,2],[3,4]])[1]))
    answers.append(attempt(lambda: np.linalg.cholesky([[4,2],[2,3]])))
    answers.append(attempt(lambda: np.linalg.norm([[1,2],[3,4]], 'nuc')))
    answers.append(attempt(lambda: np.linalg.norm([3,4])))
    answers.append(attempt(lambda: np.linalg.cond([[1,2],[3,4]])))
    answers.append(attempt(lambda: np.linalg.qr([[1,2],[3,4]])[1]))
    answers.append(attempt(lambda: np.linalg.pinv([[1,2],[3,4],[5,6]])))
    answers.append(attempt(lambda: np.linalg.slogdet([[1,2],[3,4]])))
    answers.append(attempt(lambda: np.linalg.inv([[1,2],[2,4]])))
    answers.append(attempt(lambda: np.linalg.multi_dot([np.ones((2,3)), np.ones((3,4)), np.ones((4,1))])))
    answers.append(attempt(lambda: np.linalg.eig([[0,-1],[1,0]])[0]))
    answers.append(attempt(lambda: np.linalg.tensorinv(np.eye(24).reshape(4,6,8,3), ind=2).shape))
    return answers
