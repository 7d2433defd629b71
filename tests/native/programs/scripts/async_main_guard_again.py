# script
import asyncio


async def main():
    await asyncio.sleep(0.001)
    print("async done")
    return 5


if __name__ == "__main__":
    asyncio.run(main())
