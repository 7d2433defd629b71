# refused: ModuleNotFoundError: httpx
import aiohttp
import asyncio


async def main():
    async with aiohttp.ClientSession() as s:
        async with s.get("https://x.org") as r:
            return await r.text()


asyncio.run(main())
