from concurrent.futures import ThreadPoolExecutor
def main(args):
    with ThreadPoolExecutor() as ex:
        f = ex.submit(lambda: 1 / 0)
    return [type(f.exception()).__name__, f.done(), f.cancelled()]
