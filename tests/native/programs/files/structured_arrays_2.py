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
    answers.append(attempt(lambda: np.load('x.npz')['b']))
    np.savez_compressed('y.npz', np.arange(100))
    answers.append(attempt(lambda: np.load('y.npz')['arr_0'].sum()))
    np.savetxt('t.txt', np.array([[1.5,2],[3,4]]), fmt='%.3f', header='h', delimiter=';')
    answers.append(attempt(lambda: open('t.txt').read()))
    np.savetxt('t2.txt', np.arange(4), fmt='%d')
    answers.append(attempt(lambda: np.loadtxt('t2.txt', dtype=int) * 10**10))
    answers.append(attempt(lambda: np.loadtxt('t.txt', delimiter=';', usecols=1, skiprows=1)))
    answers.append(attempt(lambda: np.arange(3).tobytes()))
    answers.append(attempt(lambda: np.frombuffer(np.arange(3).tobytes(), dtype=int)))
    answers.append(attempt(lambda: np.frombuffer(b'\x01\x00\x00\x00\x00\x00\x00\x80', dtype='<i8')))
    answers.append(attempt(lambda: np.arange(3).tofile('z.bin') or np.fromfile('z.bin', dtype=int)))
    answers.append(attempt(lambda: os.path.getsize('z.bin')))
    m = np.memmap('m.bin', dtype=int, mode='w+', shape=(3,4)); m[:] = np.arange(12).reshape(3,4)*10**10; m.flush()
    answers.append(attempt(lambda: np.memmap('m.bin', dtype=int, mode='r', shape=(3,4)).sum()))
    answers.append(attempt(lambda: np.memmap('m.bin', dtype='i8', mode='r', offset=16)[:3]))
    answers.append(attempt(lambda: open('m.bin','rb').read()[:24]))
    answers.append(attempt(lambda: np.lib.format.open_memmap('o.npy', mode='w+', dtype=float, shape=(5,)).shape))
    answers.append(attempt(lambda: np.load('o.npy', mmap_mode='r').sum()))
    answers.append(attempt(lambda: pickle.loads(pickle.dumps(np.arange(3)))))
    answers.append(attempt(lambda: pickle.dumps(np.arange(3), 2)))
    answers.append(attempt(lambda: pickle.loads(pickle.dumps(np.int64(2**40)))))
    answers.append(attempt(lambda: pickle.dumps(np.float64(1.5), 4)))
    answers.append(attempt(lambda: np.array([1,2,3]).view('u1')[:10]))
    answers.append(attempt(lambda: np.array([1,2,3]).strides))
    answers.append(attempt(lambda: np.zeros((3,4)).strides))
    answers.append(attempt(lambda: np.arange(12).reshape(3,4).T.strides))
    answers.append(attempt(lambda: np.arange(5).itemsize))
    answers.append(attempt(lambda: np.arange(5).nbytes))
    answers.append(attempt(lambda: np.arange(10)[::2].flags['C_CONTIGUOUS']))
    answers.append(attempt(lambda: np.lib.stride_tricks.sliding_window_view(np.arange(6)*10**10, 3).sum(1)))
    answers.append(attempt(lambda: np.lib.stride_tricks.as_strided(np.arange(10), (3,4), (16,8))))
    answers.append(attempt(lambda: np.broadcast_shapes((3,1),(1,4))))
    answers.append(attempt(lambda: np.ma.masked_greater(np.arange(5)*10**10, 2*10**10).sum()))
    answers.append(attempt(lambda: np.ma.array([1,2,3], mask=[0,1,0]).mean()))
    answers.append(attempt(lambda: np.ma.array([1,2,3], mask=[0,1,0]).filled(-1)))
    answers.append(attempt(lambda: np.ma.median(np.ma.array([1,2,3,4], mask=[0,1,0,0]))))
    answers.append(attempt(lambda: np.polyfit([1,2,3,4],[1,4,9,16],2)))
    answers.append(attempt(lambda: np.poly1d([1,2,3])(5)))
    return answers
