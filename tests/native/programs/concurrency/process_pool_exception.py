from concurrent.futures import ProcessPoolExecutor, as_completed


def risky(n):
    if n == 3:
        raise ValueError(f"bad {n}")
    return n * 10


def main(args):
    out = {}
    with ProcessPoolExecutor(max_workers=2) as ex:
        futs = {ex.submit(risky, n): n for n in range(5)}
        for f in as_completed(futs):
            try:
                out[str(futs[f])] = f.result()
            except ValueError as e:
                out[str(futs[f])] = repr(e)
    return dict(sorted(out.items()))
