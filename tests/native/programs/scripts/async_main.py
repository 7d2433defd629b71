# script
import asyncio

async def main():
    await asyncio.sleep(0.001)
    print("async done")

asyncio.run(main())
