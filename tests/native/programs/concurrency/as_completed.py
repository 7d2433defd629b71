from concurrent.futures import ThreadPoolExecutor, as_completed
def main(args):
    with ThreadPoolExecutor() as ex:
        fs = {ex.submit(pow, 2, n): n for n in range(5)}
        return sorted((fs[f], f.result()) for f in as_completed(fs))
