import asyncio, socket
class Echo(asyncio.Protocol):
    def connection_made(self, transport): self.transport = transport
    def data_received(self, data): self.transport.write(data[::-1])
    def eof_received(self): self.transport.close()
class Client(asyncio.Protocol):
    def __init__(self, done): self.data, self.done = b"", done
    def data_received(self, data): self.data += data
    def connection_lost(self, error): self.done.set_result((self.data.decode(), error))
async def talk():
    loop = asyncio.get_running_loop()
    a, b = socket.socketpair()
    done = loop.create_future()
    await loop.create_connection(Echo, sock=b)
    transport, client = await loop.create_connection(lambda: Client(done), sock=a)
    transport.write(b"abc")
    await asyncio.sleep(0.05)
    transport.write_eof()
    return await asyncio.wait_for(done, 5)
def main(args): return asyncio.run(talk())
