from concurrent.futures import ThreadPoolExecutor
def main(args):
    with ThreadPoolExecutor(max_workers=4) as ex:
        return list(ex.map(lambda x: x ** 2, range(8)))
