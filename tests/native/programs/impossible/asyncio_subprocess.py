# refused: : process
import asyncio
asyncio.run(asyncio.create_subprocess_exec("ls"))
