import asyncio
async def f(n):
    await asyncio.sleep(0.01 * n)
    return n * 2
async def go():
    return await asyncio.gather(*(f(i) for i in range(5)))
def main(args):
    return asyncio.run(go())
