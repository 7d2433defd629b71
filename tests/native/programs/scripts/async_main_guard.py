# script
import asyncio

async def fetch(i):
    await asyncio.sleep(0)
    return i

async def main():
    print(await asyncio.gather(*[fetch(i) for i in range(3)]))

if __name__ == "__main__":
    asyncio.run(main())
