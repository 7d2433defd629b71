# refused: : network
import asyncio
asyncio.run(asyncio.open_connection("example.com", 80))
