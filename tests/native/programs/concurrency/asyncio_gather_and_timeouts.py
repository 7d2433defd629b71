import asyncio


async def job(n, d):
    await asyncio.sleep(d)
    if n == "bad":
        raise ValueError("bad job")
    return n


async def agen():
    for i in range(3):
        yield i
        await asyncio.sleep(0)


async def run():
    out = {"g": await asyncio.gather(job("a", 0.02), job("b", 0.01))}
    out["ex"] = [repr(r) for r in await asyncio.gather(job("bad", 0), job("c", 0), return_exceptions=True)]
    try:
        await asyncio.wait_for(job("slow", 5), 0.01)
    except asyncio.TimeoutError as e:
        out["to"] = type(e).__name__
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(1)
    except TimeoutError:
        out["to2"] = True
    order = []
    async with asyncio.TaskGroup() as tg:
        for i in range(3):
            tg.create_task(step(order, i))
    out["order"] = order
    q = asyncio.Queue()
    async def prod():
        for i in range(3):
            await q.put(i)
    t = asyncio.create_task(prod())
    out["q"] = [await q.get() for _ in range(3)]
    await t
    sem = asyncio.Semaphore(2)
    async def lim(i):
        async with sem:
            await asyncio.sleep(0)
            return i
    out["sem"] = await asyncio.gather(*map(lim, range(4)))
    out["ag"] = [i async for i in agen()]
    t = asyncio.create_task(asyncio.sleep(10))
    await asyncio.sleep(0)
    t.cancel()
    try:
        await t
    except asyncio.CancelledError:
        out["can"] = t.cancelled()
    out["thr"] = await asyncio.to_thread(sum, [1, 2])
    out["done"] = [r for f in asyncio.as_completed([job(1, 0.02), job(2, 0.001)]) for r in [await f]]
    ev = asyncio.Event()
    asyncio.get_running_loop().call_later(0.01, ev.set)
    await ev.wait()
    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(job("bad", 0))
            tg.create_task(job("x", 1))
    except* ValueError as eg:
        out["eg"] = [str(e) for e in eg.exceptions]
    return out


async def step(order, i):
    order.append(("s", i))
    await asyncio.sleep(0.003 * (3 - i))
    order.append(("e", i))


def main(args):
    return asyncio.run(run())
