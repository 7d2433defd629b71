from joblib import Parallel, delayed
def main(args):
    return Parallel(n_jobs=2, prefer="threads")(delayed(pow)(i, 2) for i in range(5))
