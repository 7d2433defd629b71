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
    answers.append(attempt(lambda: a))
    answers.append(attempt(lambda: a['n'] * 2))
    answers.append(attempt(lambda: a.dtype.itemsize))
    answers.append(attempt(lambda: dt))
    answers.append(attempt(lambda: np.dtype([('a', int), ('b', 'u1')], align=True).itemsize))
    answers.append(attempt(lambda: np.dtype([('a', 'u1'), ('b', int)], align=True).fields))
    answers.append(attempt(lambda: np.dtype('i4,f8,U3')))
    answers.append(attempt(lambda: np.dtype({'names':['a','b'],'formats':[int,float]})))
    answers.append(attempt(lambda: np.dtype(int).str))
    answers.append(attempt(lambda: np.dtype('q').str))
    answers.append(attempt(lambda: np.dtype('p').kind))
    answers.append(attempt(lambda: np.sort(a, order='age')))
    answers.append(attempt(lambda: np.sort(a, order=['name'])[::-1]))
    answers.append(attempt(lambda: a[a['age']>3]['name']))
    answers.append(attempt(lambda: rf.append_fields(a[['name','age']], 'z', np.array([10**10, 2]), usemask=False)))
    answers.append(attempt(lambda: rf.structured_to_unstructured(a[['age','w','n']])))
    answers.append(attempt(lambda: rf.merge_arrays([np.array([1,2]), np.array([1.5,2.5])], flatten=True)))
    answers.append(attempt(lambda: rf.join_by('k', np.array([(1,2)],dtype=[('k',int),('a',int)]), np.array([(1,3)],dtype=[('k',int),('b',int)]), usemask=False)))
    r = a.view(np.recarray)
    answers.append(attempt(lambda: r.age.sum()))
    answers.append(attempt(lambda: np.rec.fromarrays([[1,2],[3.5,4]], names='p,q')))
    answers.append(attempt(lambda: np.rec.fromrecords([(1,'a'),(2**40,'bb')], names='i,s').dtype))
    def rt(x, **k):
        b = io.BytesIO(); np.save(b, x, **k); return b.getvalue()
    answers.append(attempt(lambda: rt(np.arange(5))))
    answers.append(attempt(lambda: rt(np.array([1.5]))))
    answers.append(attempt(lambda: rt(a)))
    answers.append(attempt(lambda: rt(np.array(['a','bb']))))
    answers.append(attempt(lambda: rt(np.arange(6).reshape(2,3).T)))
    answers.append(attempt(lambda: rt(np.array([True]))))
    answers.append(attempt(lambda: rt(np.zeros((2,0), dtype=int))))
    answers.append(attempt(lambda: np.load(io.BytesIO(rt(a)))))
    answers.append(attempt(lambda: np.load(io.BytesIO(rt(np.array([{'a':1}, None], dtype=object))), allow_pickle=True)))
    answers.append(attempt(lambda: np.load(io.BytesIO(rt(np.array([{'a':1}, None], dtype=object))))))
    np.savez('x.npz', a=np.arange(3), b=a)
    answers.append(attempt(lambda: sorted(np.load('x.npz').files)))
    np.savez_compressed('y.npz', np.arange(100))
    np.savetxt('t.txt', np.array([[1.5,2],[3,4]]), fmt='%.3f', header='h', delimiter=';')
    np.savetxt('t2.txt', np.arange(4), fmt='%d')
    m = np.memmap('m.bin', dtype=int, mode='w+', shape=(3,4)); m[:] = np.arange(12).reshape(3,4)*10**10; m.flush()
    return answers
