# script
import asyncio


async def say():
    print("hi")


async def run():
    say()
    await asyncio.sleep(0)
    print("end")


asyncio.run(run())
