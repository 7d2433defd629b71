import asyncio
async def run():
    process = await asyncio.create_subprocess_shell(
        "no-such-tool", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    async def lines(stream):
        return ["not found" in line.decode() async for line in stream]
    out, err = await asyncio.gather(lines(process.stdout), lines(process.stderr))
    return out, err, await process.wait(), process.returncode, isinstance(process.pid, int)
def main(args): return asyncio.run(run())
