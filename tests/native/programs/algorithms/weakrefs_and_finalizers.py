import gc
import weakref


class R:
    live = 0

    def __init__(self):
        R.live += 1

    def __del__(self):
        R.live -= 1


def main(args):
    r = R()
    w = weakref.ref(r)
    log = []
    weakref.finalize(r, log.append, "fin")
    a = w() is r
    del r
    b = [R() for _ in range(5)]
    b[0].x = b[0]
    d = weakref.WeakValueDictionary(k=b[1])
    del b
    before = R.live
    gc.collect()
    return {"a": a, "dead": w() is None, "log": log, "before": before, "after": R.live, "d": len(d), "en": gc.isenabled(), "th": gc.get_threshold()[0] > 0}
