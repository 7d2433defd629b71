import asyncio, socket
async def talk():
    loop = asyncio.get_running_loop()
    a, b = socket.socketpair()
    a.setblocking(False); b.setblocking(False)
    async def later():
        await asyncio.sleep(0.05)
        await loop.sock_sendall(b, b"finally")
    task = asyncio.create_task(later())
    data = await loop.sock_recv(a, 100)
    await task
    return data.decode()
def main(args): return asyncio.run(talk())
