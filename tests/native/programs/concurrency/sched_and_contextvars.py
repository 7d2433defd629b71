import contextvars
import sched
import time
from concurrent.futures import ThreadPoolExecutor, Future
import asyncio

var = contextvars.ContextVar("v", default="d")


def main(args):
    log = []
    s = sched.scheduler(time.monotonic, time.sleep)
    s.enter(0.02, 1, log.append, ("b",))
    s.enter(0.01, 1, log.append, ("a",))
    s.run()
    tok = var.set("x")
    ctx = contextvars.copy_context()
    ctx.run(var.set, "y")
    inner = ctx[var]
    var.reset(tok)
    f = Future()
    f.add_done_callback(lambda f: log.append(f.result()))
    f.set_result(7)
    async def t():
        var.set("task")
        return var.get()
    async def m():
        await asyncio.create_task(t())
        return var.get()
    with ThreadPoolExecutor(2) as ex:
        m1 = list(ex.map(lambda a, b: a * b, [1, 2], [3, 4]))
        fu = ex.submit(time.sleep, 0)
        fu.result()
        c = fu.cancel()
    return {"log": log, "inner": inner, "now": var.get(), "async": asyncio.run(m()), "m": m1, "c": c}
