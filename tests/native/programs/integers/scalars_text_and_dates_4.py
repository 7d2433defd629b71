import numpy as np


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
    s = np.array(['apple','Banana','cherry pie'])
    d = np.array(['2024-02-28','2024-02-29','1969-12-31'], dtype='M8[D]')
    answers.append(attempt(lambda: np.int64(2**63)))
    answers.append(attempt(lambda: np.array([-1], dtype=np.uint32)))
    answers.append(attempt(lambda: np.array([1,2],dtype=np.int8)+200))
    answers.append(attempt(lambda: np.int8(100)+np.int8(100)))
    answers.append(attempt(lambda: np.iinfo(int).max))
    answers.append(attempt(lambda: np.iinfo(np.int_).bits))
    answers.append(attempt(lambda: np.dtype(np.int_) == np.int64))
    answers.append(attempt(lambda: np.int_ is np.int64))
    answers.append(attempt(lambda: np.dtype(int) == 'int64'))
    answers.append(attempt(lambda: issubclass(np.int64, np.signedinteger)))
    answers.append(attempt(lambda: np.issubdtype(np.arange(2).dtype, np.int64)))
    answers.append(attempt(lambda: np.issubdtype(np.argsort([1]).dtype, np.integer)))
    answers.append(attempt(lambda: np.sctypeDict['int']))
    answers.append(attempt(lambda: np.dtype('int')))
    answers.append(attempt(lambda: np.dtype('uint')))
    answers.append(attempt(lambda: np.dtype('i')))
    answers.append(attempt(lambda: np.dtype('int_')))
    answers.append(attempt(lambda: np.dtype('longlong')))
    answers.append(attempt(lambda: np.dtype('clongdouble').name))
    answers.append(attempt(lambda: np.longdouble(1)/3))
    answers.append(attempt(lambda: np.finfo(np.longdouble).eps))
    answers.append(attempt(lambda: np.longdouble('1e400')))
    answers.append(attempt(lambda: np.clongdouble(1+2j).dtype.itemsize))
    answers.append(attempt(lambda: np.float128 if hasattr(np,'float128') else None))
    answers.append(attempt(lambda: np.unwrap([0, 3, 7])))
    return answers
