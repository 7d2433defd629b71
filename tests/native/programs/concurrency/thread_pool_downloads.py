import threading
import time
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, ThreadPoolExecutor, as_completed, wait


def fetch(i):
    time.sleep(0.001 * (5 - i))
    if i == 3:
        raise ConnectionError(f"host {i} down")
    return i, len("x" * i * 1000)


def main(args):
    out = {}
    with ThreadPoolExecutor(max_workers=3, thread_name_prefix="dl") as ex:
        futs = [ex.submit(fetch, i) for i in range(5)]
        for f in as_completed(futs):
            try:
                k, v = f.result()
                out[str(k)] = v
            except ConnectionError as e:
                out["err"] = str(e)
        done, pending = wait(futs, return_when=ALL_COMPLETED)
        name = ex.submit(lambda: threading.current_thread().name).result()
    f = futs[0]
    return {"out": dict(sorted(out.items())), "done": len(done), "pend": len(pending), "name": name.startswith("dl_"), "state": [f.done(), f.cancelled(), f.exception() is None], "alive": threading.active_count()}
