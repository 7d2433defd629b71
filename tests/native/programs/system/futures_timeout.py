import concurrent.futures, time
def main(args):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(time.sleep, 0.2)
        try:
            future.result(timeout=0.05)
        except concurrent.futures.TimeoutError as error:
            return type(error).__name__
