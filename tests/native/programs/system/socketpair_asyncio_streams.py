import asyncio, socket
async def handle(reader, writer):
    while line := await reader.readline():
        writer.write(b"echo " + line)
        await writer.drain()
    writer.close()
async def talk():
    a, b = socket.socketpair()
    server = asyncio.create_task(handle(*await asyncio.open_connection(sock=b)))
    reader, writer = await asyncio.open_connection(sock=a)
    writer.write(b"one\ntwo\n")
    writer.write_eof()
    text = (await reader.read()).decode()
    await server
    writer.close()
    return text
def main(args): return asyncio.run(talk())
