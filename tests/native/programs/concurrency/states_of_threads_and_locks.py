import re
import threading


def main(args):
    thread = threading.Thread(target=len, args=([],), name="worker")
    states = [re.sub(r"\d{3,}", "ID", repr(thread))]
    thread.start()
    thread.join()
    states.append(re.sub(r"\d{3,}", "ID", repr(thread)))
    lock = threading.RLock()
    got = [lock.acquire(), lock.acquire(), lock.acquire(blocking=False)]
    with lock as entered:
        pass
    shown = re.sub(r"owner=\S+|0x[0-9a-f]+", "X", repr(lock))
    return {"states": states, "got": got, "entered": entered, "shown": shown}
