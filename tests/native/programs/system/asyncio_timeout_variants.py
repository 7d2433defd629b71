import asyncio
async def slow(): await asyncio.sleep(10); return "never"
async def all_of_them():
    found = []
    try:
        await asyncio.wait_for(slow(), 0.05)
    except asyncio.TimeoutError as error:
        found.append(type(error).__name__)
    try:
        async with asyncio.timeout(0.05):
            await slow()
    except TimeoutError:
        found.append("timeout()")
    done, pending = await asyncio.wait([asyncio.create_task(slow())], timeout=0.05)
    found.append([len(done), len(pending)])
    for task in pending: task.cancel()
    return found
def main(args): return asyncio.run(all_of_them())
