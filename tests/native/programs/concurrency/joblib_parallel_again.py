from joblib import Parallel, delayed


def work(i):
    return i**2


def main(args):
    return {"a": Parallel(n_jobs=2)(delayed(work)(i) for i in range(6)), "b": Parallel(n_jobs=-1, prefer="threads")(delayed(pow)(2, i) for i in range(4)), "c": Parallel(n_jobs=1)(delayed(work)(i) for i in range(3))}
