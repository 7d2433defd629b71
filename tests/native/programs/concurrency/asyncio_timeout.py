import asyncio
async def go():
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.02)
    except asyncio.TimeoutError:
        return "timeout"
def main(args):
    return asyncio.run(go())
