import asyncio
async def go():
    l, s, e, log = asyncio.Lock(), asyncio.Semaphore(2), asyncio.Event(), []
    async def w(i):
        async with s:
            async with l: log.append(i)
    async def waiter():
        await e.wait(); log.append("set")
    t = asyncio.create_task(waiter())
    await asyncio.gather(*(w(i) for i in range(4))); e.set(); await t
    return log
def main(args):
    return asyncio.run(go())
