from concurrent.futures import ThreadPoolExecutor
def main(args):
    seen = []
    with ThreadPoolExecutor(1, initializer=seen.append, initargs=("init",)) as ex:
        r = ex.submit(lambda: "x").result()
    return [seen, r]
