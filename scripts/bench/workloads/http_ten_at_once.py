import asyncio
import os

HOST, _, PORT = os.environ.get("BENCH_ORIGIN", "origin.example:80").partition(":")


async def get():
    reader, writer = await asyncio.open_connection(HOST, int(PORT))
    head = f"GET /1000?delay=0.1 HTTP/1.1\r\nHost: {HOST}:{PORT}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    answer = await reader.read()
    writer.close()
    return len(answer.partition(b"\r\n\r\n")[2])


async def get_all():
    return sum(await asyncio.gather(*(get() for _ in range(10))))


def main(args):
    return asyncio.run(get_all())
