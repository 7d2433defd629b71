# refused: FileNotFoundError: no other program
import asyncio
asyncio.run(asyncio.create_subprocess_exec("pandoc", "a.md"))
