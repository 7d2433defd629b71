import asyncio
async def go():
    async with asyncio.TaskGroup() as g:
        a = g.create_task(asyncio.sleep(0.01, "a")); b = g.create_task(asyncio.sleep(0, "b"))
    return [a.result(), b.result()]
def main(args):
    return asyncio.run(go())
