import asyncio
async def go():
    q, out = asyncio.Queue(), []
    async def prod():
        for i in range(4): await q.put(i)
        await q.put(None)
    async def cons():
        while (x := await q.get()) is not None: out.append(x)
    await asyncio.gather(prod(), cons())
    return out
def main(args):
    return asyncio.run(go())
