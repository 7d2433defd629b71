"""asyncio in the sandbox: no sockets, no threads, no signals."""

from __future__ import annotations

from _wardian import event_loop
from tests.support import Sandbox


class Loop(Sandbox):
    def test_tasks_timers_queues_and_locks_work(self):
        source = (
            "import asyncio\n"
            "async def produce(queue):\n"
            "    for i in range(3):\n"
            "        await asyncio.sleep(0.001)\n"
            "        await queue.put(i)\n"
            "    await queue.put(None)\n"
            "async def consume(queue):\n"
            "    got = []\n"
            "    while (item := await queue.get()) is not None: got.append(item)\n"
            "    return got\n"
            "async def main(args):\n"
            "    queue, lock = asyncio.Queue(1), asyncio.Lock()\n"
            "    async with lock, asyncio.timeout(5):\n"
            "        _, got = await asyncio.gather(produce(queue), consume(queue))\n"
            "    try:\n"
            "        await asyncio.wait_for(asyncio.Event().wait(), 0.001)\n"
            "    except TimeoutError:\n"
            "        got.append('timeout')\n"
            "    async with asyncio.TaskGroup() as group:\n"
            "        task = group.create_task(asyncio.sleep(0, 'grouped'))\n"
            "    return [*got, task.result()]\n"
        )
        self.assertEqual(self.returns(source), [0, 1, 2, "timeout", "grouped"])

    def test_every_way_to_get_a_loop_gets_this_one(self):
        for start in [
            "asyncio.run(work())",
            "asyncio.Runner().run(work())",
            "asyncio.new_event_loop().run_until_complete(work())",
            "asyncio.SelectorEventLoop().run_until_complete(work())",
            "asyncio.get_event_loop().run_until_complete(work())",
        ]:
            source = (
                "import asyncio\n"
                "async def work():\n"
                "    await asyncio.sleep(0)\n"
                "    return type(asyncio.get_running_loop()).__name__\n"
                f"def main(): return {start}\n"
            )
            with self.subTest(start):
                event_loop.provide_loop()
                self.assertEqual(self.returns(source), "SandboxEventLoop")

    def test_blocking_calls_run_in_place(self):
        source = (
            "import asyncio, concurrent.futures\n"
            "def fail(): raise KeyError('x')\n"
            "async def main(args):\n"
            "    pool = concurrent.futures.ThreadPoolExecutor()\n"
            "    loop = asyncio.get_running_loop()\n"
            "    got = [await asyncio.to_thread(max, 1, 2),\n"
            "           await loop.run_in_executor(None, len, 'abc'),\n"
            "           await loop.run_in_executor(pool, len, 'abcd')]\n"
            "    try:\n"
            "        await asyncio.to_thread(fail)\n"
            "    except KeyError:\n"
            "        got.append('failed')\n"
            "    task = asyncio.create_task(asyncio.to_thread(fail))\n"
            "    await asyncio.sleep(0)\n"
            "    task.cancel()\n"
            "    return got\n"
        )
        self.assertEqual(self.returns(source), [2, 3, 4, "failed"])

    def test_a_thread_is_apart_from_the_loop_of_its_caller(self):
        start = (
            "import asyncio, threading, concurrent.futures\n"
            "async def work(): await asyncio.sleep(0.001); return 5\n"
            "def call():\n"
            "    try: asyncio.get_running_loop()\n"
            "    except RuntimeError: return asyncio.run(work())\n"
        )
        for ways in [
            "    return await asyncio.to_thread(call)\n",
            "    return await asyncio.get_running_loop().run_in_executor(None, call)\n",
            "    return concurrent.futures.ThreadPoolExecutor().submit(call).result()\n",
            "    found = []\n    one = threading.Thread(target=lambda: found.append(call()))\n"
            "    one.start(); one.join()\n    return found[0]\n",
        ]:
            end = "    before = asyncio.current_task(), asyncio.get_running_loop()\n"
            source = f"{start}async def inner():\n{ways}async def main(args):\n{end}    value = await inner()\n"
            source += "    assert (asyncio.current_task(), asyncio.get_running_loop()) == before\n    return value\n"
            with self.subTest(ways):
                self.assertEqual(self.returns(source), 5)

    def test_a_loop_that_waits_lets_threads_run(self):
        start = "import asyncio, threading\nasync def main(args):\n    loop = asyncio.get_running_loop()\n"
        for wait, daemon in [
            ("    return await future\n", True),
            ("    return await future\n", False),
            ("    return await asyncio.wait_for(future, 5)\n", False),
            ("    while not future.done(): await asyncio.sleep(0.001)\n    return future.result()\n", False),
        ]:
            source = (
                f"{start}    future = loop.create_future()\n"
                "    call = lambda: loop.call_soon_threadsafe(future.set_result, 3)\n"
                f"    threading.Thread(target=call, daemon={daemon}).start()\n{wait}"
            )
            with self.subTest(wait, daemon=daemon):
                self.assertEqual(self.returns(source), 3)

    def test_a_daemon_does_not_keep_a_loop_from_its_timers(self):
        source = (
            "import asyncio, threading, time\n"
            "def beat():\n    while True: time.sleep(0.001)\n"
            "async def main(args):\n    threading.Thread(target=beat, daemon=True).start()\n"
            "    return await asyncio.sleep(0.01, 4)\n"
        )
        self.assertEqual(self.returns(source), 4)

    def test_a_thread_that_goes_on_beside_a_loop_is_refused(self):
        source = (
            "import asyncio, threading, time\nstop = threading.Event()\n"
            "def beat():\n    while not stop.is_set(): time.sleep(0.001)\n"
            "async def main(args):\n    threading.Thread(target=beat).start()\n"
            "    await asyncio.sleep(0.01)\n    stop.set()\n"
        )
        failure = self.fails(source)
        self.assertEqual(failure["type"], "RuntimeError")
        self.assertIn("two threads at once", failure["message"])

    def test_waiting_for_nothing_is_told_at_once(self):
        report = self.fails("import asyncio\nasync def main(args): await asyncio.Event().wait()")
        self.assertEqual(report["type"], "RuntimeError")
        self.assertIn("this program waits for ever", report["message"])

    def test_what_needs_sockets_says_so(self):
        report = self.fails(
            "import asyncio\nasync def main(args): await asyncio.create_subprocess_exec('id')\n"
        )
        self.assertEqual(report["type"], "FileNotFoundError")
        self.assertIn("no other program can run in the sandbox", report["message"])

    def test_an_exception_of_a_task_is_the_program_s(self):
        report = self.fails(
            "import asyncio\n"
            "async def fail(): raise ValueError('task')\n"
            "async def main(args): await asyncio.gather(fail(), asyncio.sleep(10))\n"
        )
        self.assertEqual((report["type"], report["message"]), ("ValueError", "task"))

    def test_sys_exit_in_a_task_is_reported(self):
        report = self.fails(
            "import asyncio, sys\n"
            "async def leave(): sys.exit(3)\n"
            "async def main(args): await asyncio.create_task(leave())\n"
        )
        self.assertEqual(report["type"], "SystemExit")

    def test_a_shell_has_not_found_the_command(self):
        value = self.returns(
            "import asyncio\n"
            "from asyncio.subprocess import DEVNULL, PIPE, STDOUT\n"
            "async def run(**streams):\n"
            "    process = await asyncio.create_subprocess_shell('git log', **streams)\n"
            "    out, err = await process.communicate(b'x' if 'stdin' in streams else None)\n"
            "    return [process.returncode, await process.wait(),\n"
            "            *(text and text.decode()[:24] for text in (out, err))]\n"
            "async def main():\n"
            "    whole = await asyncio.create_subprocess_shell('a b', stderr=PIPE)\n"
            "    lines = [line.decode()[:15] async for line in whole.stderr]\n"
            "    return [await run(stdout=PIPE, stderr=PIPE), await run(stdin=PIPE, stderr=DEVNULL),\n"
            "            await run(stdout=PIPE, stderr=STDOUT), await run(), lines]\n"
        )
        said = "/bin/sh: 1: git: not fou"
        self.assertEqual(
            value,
            [[127, 127, "", said], [127, 127, None, None], [127, 127, said, None],
             [127, 127, None, None], ["/bin/sh: 1: a: "]],
        )  # fmt: skip
