import asyncio
async def go():
    return await asyncio.gather(asyncio.to_thread(sum, [1, 2]), asyncio.get_running_loop().run_in_executor(None, max, 3, 9))
def main(args):
    return asyncio.run(go())
