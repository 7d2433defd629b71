from concurrent.futures import ThreadPoolExecutor
def main(args):
    got = []
    with ThreadPoolExecutor() as ex:
        f = ex.submit(lambda: 7); f.add_done_callback(lambda f: got.append(f.result()))
    return got
