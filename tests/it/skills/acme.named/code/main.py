"""Takes its arguments by name, and takes its time."""

import asyncio


async def main(amount, months=12):
    """Returns both."""
    await asyncio.sleep(0)
    return {"amount": amount, "months": months}
