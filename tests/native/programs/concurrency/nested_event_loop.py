# script
import asyncio


async def work(n):
    await asyncio.sleep(0)
    return n + 1


async def outer():
    try:
        asyncio.run(work(1))
    except RuntimeError as e:
        print("nested:", e)
    loop = asyncio.get_running_loop()
    fut = loop.create_future()
    loop.call_soon(fut.set_result, 5)
    print(await fut)
    print(await asyncio.shield(work(3)))
    coro = work(9)
    coro.close()
    return [t.get_name() for t in asyncio.all_tasks()].__len__()


print(asyncio.run(outer()))
loop = asyncio.new_event_loop()
print(loop.run_until_complete(work(10)))
loop.close()
try:
    asyncio.get_running_loop()
except RuntimeError as e:
    print(e)
work(1).close()
