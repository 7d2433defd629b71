from concurrent.futures import ThreadPoolExecutor, wait, FIRST_COMPLETED
def main(args):
    with ThreadPoolExecutor(2) as ex:
        fs = [ex.submit(sum, range(n)) for n in (10, 20)]
        done, rest = wait(fs)
    return [len(done), len(rest), sorted(f.result() for f in fs)]
