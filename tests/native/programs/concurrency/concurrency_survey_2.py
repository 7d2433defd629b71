import asyncio, threading, queue, concurrent.futures as cf, contextvars, time, functools, multiprocessing as mp, itertools, weakref, gc, sched, signal, contextlib


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    def run(coro): return asyncio.run(coro)
    async def w(i):
        await asyncio.sleep(.001*(5-i)); return i
    async def bad(): raise ValueError('x')
    async def g1(): return await asyncio.gather(*(w(i) for i in range(5)))
    async def g2(): return [await f for f in asyncio.as_completed([w(i) for i in range(5)])]
    async def g3():
        return [repr(r) for r in await asyncio.gather(w(1), bad(), return_exceptions=True)]
    async def g4():
        async with asyncio.TaskGroup() as tg: ts = [tg.create_task(w(i)) for i in range(3)]
        return [t.result() for t in ts]
    async def g5():
        try: await asyncio.wait_for(asyncio.sleep(10), .01)
        except TimeoutError as e: return type(e).__name__
    async def g6():
        q = asyncio.Queue(2); out = []
        async def prod():
            for i in range(5): await q.put(i)
            await q.put(None)
        async def cons():
            while (x := await q.get()) is not None: out.append(x)
        await asyncio.gather(prod(), cons()); return out
    async def g7():
        t = asyncio.create_task(asyncio.sleep(10)); await asyncio.sleep(0); t.cancel()
        try: await t
        except asyncio.CancelledError: return t.cancelled()
    async def g8():
        s = asyncio.Semaphore(2); n = [0, 0]
        async def job():
            async with s:
                n[0] += 1; n[1] = max(n); await asyncio.sleep(.001); n[0] -= 1
        await asyncio.gather(*(job() for _ in range(6))); return n[1]
    async def g9():
        async with asyncio.TaskGroup() as tg:
            tg.create_task(bad()); tg.create_task(w(1))
    async def g10():
        loop = asyncio.get_running_loop(); f = loop.create_future(); loop.call_later(.001, f.set_result, 5); return await f
    async def g11():
        async def ag():
            for i in range(3): yield i; await asyncio.sleep(0)
        return [x async for x in ag()]
    async def g12():
        e = asyncio.Event(); asyncio.get_running_loop().call_soon(e.set); await e.wait(); return e.is_set()
    async def g13(): return await asyncio.to_thread(sum, [1,2])
    async def g14():
        d, p = await asyncio.wait([asyncio.create_task(w(0)), asyncio.create_task(asyncio.sleep(5))], return_when='FIRST_COMPLETED'); [t.cancel() for t in p]; return len(d), len(p)
    async def g15():
        async with asyncio.timeout(.01): await asyncio.sleep(1)
    async def g16():
        l = asyncio.Lock(); c = asyncio.Condition()
        async with l: return l.locked()
    async def g17():
        b = asyncio.Barrier(2); return sorted(x for x in await asyncio.gather(b.wait(), b.wait()))
    async def g18(): return await asyncio.shield(w(3))
    async def g19():
        q = asyncio.PriorityQueue(); [q.put_nowait(x) for x in (3,1,2)]; return [q.get_nowait() for _ in range(3)]
    async def g20(): return (await asyncio.create_subprocess_shell('ls')).returncode
    async def g21(): return asyncio.current_task().get_name(), len(asyncio.all_tasks())
    async def g22():
        r, w_ = await asyncio.open_connection('localhost', 80)
    def thr(n):
        out = []; ts = [threading.Thread(target=lambda i=i: out.append(i*i)) for i in range(n)]; [t.start() for t in ts]; [t.join() for t in ts]; return sorted(out)
    def pool():
        with cf.ThreadPoolExecutor(3) as ex: return list(ex.map(lambda x: x**2, range(5))), ex.submit(pow, 2, 3).result() if False else 0
    def pc():
        q = queue.Queue(); out = []
        def c():
            while (x := q.get()) is not None: out.append(x); q.task_done()
            q.task_done()
        t = threading.Thread(target=c); t.start(); [q.put(i) for i in range(5)]; q.put(None); q.join(); t.join(); return out
    cv = contextvars.ContextVar('v', default=1)
    def lk():
        l = threading.Lock(); 
        with l: return l.acquire(blocking=False), l.acquire(timeout=.01), l.locked()
    def tm():
        out = []; t = threading.Timer(.01, out.append, [1]); t.start(); t.join(); return out
    def ex():
        got = []; threading.excepthook, old = (lambda a: got.append(a.exc_type.__name__)), threading.excepthook
        t = threading.Thread(target=lambda: 1/0); t.start(); t.join(); threading.excepthook = old; return got
    answers.append(attempt(lambda: ex()))
    def sc():
        out = []; s = sched.scheduler(time.monotonic, time.sleep); s.enter(.3, 1, out.append, ['b']); s.enter(.001, 1, out.append, ['a']); s.run(); return out
    answers.append(attempt(lambda: sc()))
    return answers
