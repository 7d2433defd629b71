import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
async def run():
    found = []
    try:
        await asyncio.create_subprocess_exec("no-such-tool", "-x", stdout=PIPE)
    except FileNotFoundError as error:
        found.append([error.errno, error.filename == "no-such-tool"])
    process = await asyncio.create_subprocess_shell("no-such-tool -x", stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    found += [process.returncode, out.decode(), b"not found" in err]
    process = await asyncio.create_subprocess_shell("no-such-tool", stdin=PIPE, stdout=PIPE, stderr=STDOUT)
    out, err = await asyncio.wait_for(process.communicate(b"input"), 5)
    found += [await process.wait(), b"not found" in out, err]
    process = await asyncio.create_subprocess_shell("no-such-tool", stdout=PIPE, stderr=DEVNULL)
    found += [await process.stdout.read(), await process.wait(), process.stdin, process.stderr]
    for call in (process.kill, process.terminate, lambda: process.send_signal(9)):
        try:
            found.append(call())
        except ProcessLookupError:
            found.append("gone")
    return [part.decode() if isinstance(part, bytes) else part for part in found]
def main(args): return asyncio.run(run())
