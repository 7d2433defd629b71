from multiprocessing.pool import ThreadPool
def main(args):
    with ThreadPool(3) as p:
        return [p.starmap(pow, [(2, 3), (3, 2)]), p.apply_async(max, (1, 5)).get(), list(p.imap(str, [1, 2]))]
