import sympy as S


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
    x, y, z, n = S.symbols("x y z n")
    k = S.symbols("k", integer=True, positive=True)
    f = S.Function("f")
    A = S.Matrix([[1, 2], [3, 4]])
    B = S.Matrix([[2, 1, 0], [1, 2, 1], [0, 1, 2]])
    answers.append(attempt(lambda: A.eigenvals()))
    answers.append(attempt(lambda: B.eigenvects()))
    answers.append(attempt(lambda: A.inv()))
    answers.append(attempt(lambda: A.det()))
    answers.append(attempt(lambda: A**10))
    answers.append(attempt(lambda: B.LUdecomposition()))
    answers.append(attempt(lambda: B.QRdecomposition()))
    answers.append(attempt(lambda: B.diagonalize()))
    answers.append(attempt(lambda: A.jordan_form()))
    answers.append(attempt(lambda: B.rref()))
    answers.append(attempt(lambda: B.rank()))
    answers.append(attempt(lambda: B.nullspace()))
    answers.append(attempt(lambda: S.Matrix([[1, 2], [2, 4]]).nullspace()))
    answers.append(attempt(lambda: A.charpoly(x).as_expr()))
    answers.append(attempt(lambda: (A * S.Matrix([x, y])).T))
    answers.append(attempt(lambda: A.exp()))
    answers.append(attempt(lambda: S.eye(3).row_join(B).shape))
    answers.append(attempt(lambda: B.cholesky()))
    answers.append(attempt(lambda: A.LUsolve(S.Matrix([1, 2]))))
    answers.append(attempt(lambda: S.Matrix(3, 3, lambda i, j: i * 10**10 + j)))
    answers.append(attempt(lambda: A.inv("ADJ")))
    answers.append(attempt(lambda: A.norm()))
    answers.append(attempt(lambda: A.applyfunc(lambda value: value**20)))
    answers.append(attempt(lambda: S.Matrix([1, 2]).inv()))
    return answers
