import numpy as np


def main(args):
    a = np.arange(5)
    square = np.arange(9).reshape(3, 3)
    big = np.array([0, 2**31])
    actions = {
        "list": lambda: a[[0, 2**31]],
        "array": lambda: a[big],
        "one": lambda: a[[5_000_000_000]],
        "negative": lambda: a[[-(2**31) - 1]],
        "uint32": lambda: a[np.array([2**31], dtype=np.uint32)],
        "uint64": lambda: a[np.array([1, 2**40], dtype=np.uint64)],
        "swapped": lambda: a[np.array([1, 2**40], dtype=">i8")],
        "second": lambda: square[[0, 1], [0, 2**35]],
        "column": lambda: square[:, [2**35]],
        "ellipsis": lambda: square[..., [2**35]],
        "new axis": lambda: square[None, :, [2**35]],
        "after integer": lambda: square[0, [[1, 2], [0, 2**33]]],
        "strided": lambda: a[np.array([0, 9, 1, 9, 2**32, 9])[::2]],
        "along": lambda: np.take_along_axis(a, np.array([2**35]), 0),
        "set": lambda: a.__setitem__([1, 2**40], 1),
        "add": lambda: np.add.at(a, [2**35], 1),
        "many": lambda: a[np.repeat([1, 2**33], 20_000)],
    }
    out = {}
    for name, action in actions.items():
        try:
            out[name] = repr(action())
        except IndexError as error:
            out[name] = str(error)
    out["right"] = [
        a[np.array([4, -5])].tolist(),
        square[:, np.array([2, 0], dtype=np.uint64)].tolist(),
        square[np.array([[0], [2]]), np.array([1, 2], dtype=">i8")].tolist(),
        a[np.array([], dtype=int)].tolist(),
        square[np.array([True, False, True]), [0, 1]].tolist(),
    ]
    return out
