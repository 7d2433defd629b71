import asyncio, socket
async def talk():
    loop = asyncio.get_running_loop()
    a, b = socket.socketpair()
    got = loop.create_future()
    loop.add_reader(a.fileno(), lambda: got.set_result(a.recv(10).decode()))
    loop.call_later(0.02, b.send, b"hi")
    value = await asyncio.wait_for(got, 2)
    return value, loop.remove_reader(a.fileno()), loop.remove_reader(a.fileno())
def main(args): return asyncio.run(talk())
