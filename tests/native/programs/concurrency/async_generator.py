import asyncio
async def gen(n):
    for i in range(n):
        await asyncio.sleep(0); yield i
async def go():
    return [x async for x in gen(4) if x % 2]
def main(args):
    return asyncio.run(go())
