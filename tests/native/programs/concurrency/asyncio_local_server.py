# refused: OSError: cannot be a server
import asyncio


async def handle(r, w):
    w.write(await r.readline())
    await w.drain()
    w.close()


async def run():
    s = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = s.sockets[0].getsockname()[1]
    r, w = await asyncio.open_connection("127.0.0.1", port)
    w.write(b"ping\n")
    x = await r.readline()
    w.close()
    s.close()
    return x.decode()


def main(args):
    return asyncio.run(run())
