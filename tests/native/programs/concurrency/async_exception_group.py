import asyncio
async def bad(): raise ValueError("x")
async def go():
    caught = []
    try:
        async with asyncio.TaskGroup() as g:
            g.create_task(bad())
            g.create_task(asyncio.sleep(5))
    except* ValueError as e:
        caught = [str(x) for x in e.exceptions]
    r = await asyncio.gather(bad(), return_exceptions=True)
    return [caught, type(r[0]).__name__]
def main(args):
    return asyncio.run(go())
