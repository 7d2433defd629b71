import time
from datetime import datetime, timezone, date


def main(args):
    a = time.perf_counter()
    m = time.monotonic()
    c = time.process_time()
    time.sleep(0.01)
    b = time.perf_counter()
    now = datetime.now()
    utc = datetime.now(timezone.utc).replace(tzinfo=None)
    return {"adv": b - a >= 0.009, "mono": time.monotonic() >= m, "cpu": time.process_time() >= c, "sane": date.today().year >= 2024, "same": abs((now - utc).total_seconds()) < 5, "ns": isinstance(time.time_ns(), int) and time.time_ns() > 10**18, "info": time.get_clock_info("monotonic").monotonic, "th": time.thread_time() >= 0, "cg": time.clock_gettime(time.CLOCK_MONOTONIC) > 0, "res": time.clock_getres(time.CLOCK_REALTIME) < 0.1}
