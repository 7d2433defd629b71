import asyncio, os, signal
async def main(args=None):
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(stop.wait(), 5)
    return loop.remove_signal_handler(signal.SIGTERM), loop.remove_signal_handler(signal.SIGTERM)
def run(args): return asyncio.run(main())
main_async = main
def main(args): return asyncio.run(main_async())
