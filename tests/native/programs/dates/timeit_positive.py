import time
def main(args):
    t = time.perf_counter(); m = time.monotonic(); p = time.process_time()
    time.sleep(0.02)
    return [time.perf_counter() - t >= 0.015, time.monotonic() >= m, time.process_time() >= p, isinstance(time.time_ns(), int)]
