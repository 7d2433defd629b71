"""Threads, one after another."""

from __future__ import annotations

from tests.support import Sandbox


class Threads(Sandbox):
    def test_programs_that_have_an_order_work(self):
        for source, value in _WORKING.items():
            with self.subTest(source):
                self.assertEqual(self.returns(source), value)
                self.assertEqual(self.complained, "")

    def test_programs_that_have_none_say_so(self):
        for source in _IMPOSSIBLE:
            with self.subTest(source):
                failure = self.fails(source)
                self.assertEqual(failure["type"], "RuntimeError")
                self.assertRegex(failure["message"], "two threads at once|waits for ever")
                self.assertIn("there are no threads in the sandbox", failure["message"])

    def test_the_pool_that_is_waited_for_goes_before_others(self):
        for waits in (
            "wanted[1].result()",
            "wanted[1].exception()",
            "wait(wanted)",
            "wait(wanted, return_when=FIRST_COMPLETED)",
        ):
            source = (
                "import threading\nfrom concurrent.futures import *\n"
                "lock, order = threading.Lock(), []\n"
                "def needs_lock():\n    with lock: order.append('other')\n"
                "with ThreadPoolExecutor() as other, ThreadPoolExecutor() as pool:\n"
                "    with lock:\n"
                "        other.submit(needs_lock)\n"
                "        wanted = [pool.submit(order.append, n) for n in range(2)]\n"
                f"        {waits}\n"
                "    first = order[:1]\n"
                "[first, order[-1] == 'other' or order[1:]]"
            )
            with self.subTest(waits):
                first, rest = self.returns(source)
                self.assertEqual(first, [0])
                self.assertIn(rest, (True, ["other", 1]))

    def test_an_exception_of_a_thread_is_printed_and_no_more(self):
        source = (
            "import threading\ndef work(): raise ValueError('inside')\n"
            "t = threading.Thread(target=work, name='w')\nt.start()\nt.join()\nt.is_alive()\n"
        )
        self.assertIs(self.returns(source), False)
        self.assertIn("Exception in thread w:", self.complained)
        self.assertIn("ValueError: inside", self.complained)

    def test_threads_that_nobody_waits_for_run_at_the_end(self):
        source = (
            "import threading\ndef main(args):\n    found = []\n"
            "    threading.Thread(target=found.append, args=(1,)).start()\n    return found\n"
        )
        self.assertEqual(self.returns(source), [1])

    def test_waiting_with_a_timeout_ends_and_says_so(self):
        source = (
            "import concurrent.futures, queue, threading, time\n"
            "def main(args):\n"
            "    began, found = time.monotonic(), []\n"
            "    found.append(threading.Event().wait(0.02))\n"
            "    found.append(threading.Semaphore(0).acquire(timeout=0.02))\n"
            "    try: queue.Queue().get(timeout=0.02)\n"
            "    except queue.Empty: found.append('empty')\n"
            "    try: concurrent.futures.Future().result(0.02)\n"
            "    except TimeoutError: found.append('timeout')\n"
            "    condition = threading.Condition()\n"
            "    with condition:\n"
            "        found.append(condition.wait_for(lambda: False, 0.02))\n"
            "    lock = threading.Lock()\n"
            "    lock.acquire()\n"
            "    found += [lock.acquire(timeout=0.02), lock.acquire(False)]\n"
            "    return [*found, time.monotonic() - began >= 0.11]\n"
        )
        self.assertEqual(
            self.returns(source), [False, False, "empty", "timeout", False, False, False, True]
        )

    def test_what_is_there_already_is_not_waited_for(self):
        source = (
            "import queue, threading\n"
            "def main(args):\n"
            "    event, things = threading.Event(), queue.Queue()\n"
            "    event.set(); things.put(1)\n"
            "    return [event.wait(), things.get(), threading.Semaphore(1).acquire()]\n"
        )
        self.assertEqual(self.returns(source), [True, 1, True])

    def test_the_lock_has_to_be_held(self):
        source = "import threading\ndef main(args):\n    threading.Condition().wait(0)\n"
        self.assertEqual(self.fails(source)["message"], "cannot wait on un-acquired lock")

    def test_a_timer_s_time_is_not_waited_for_twice(self):
        source = (
            "import threading, time\nbegan = time.monotonic()\nfound = []\n"
            "for n in (0.3, 0.1, 0.2):\n    threading.Timer(n, found.append, (n,)).start()\n"
            "time.sleep(0.5)\n[found, time.monotonic() - began < 1]\n"
        )
        self.assertEqual(self.returns(source), [[0.1, 0.2, 0.3], True])


_HEAD = (
    "import concurrent.futures as cf, queue, threading, time\n"
    "from concurrent.futures import ThreadPoolExecutor, as_completed, wait\n"
    "from threading import Thread\nout = []\n"
)

_WORKING = {
    _HEAD + source: value
    for source, value in {
        "ts = [Thread(target=lambda n=n: out.append(n * n)) for n in range(4)]\n"
        "for t in ts: t.start()\nfor t in ts: t.join()\nout": [0, 1, 4, 9],
        "lock = threading.Lock()\ncount = 0\n"
        "def add():\n    global count\n    for _ in range(100):\n        with lock: count += 1\n"
        "ts = [Thread(target=add) for _ in range(5)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\ncount": 500,
        "with ThreadPoolExecutor(3) as p:\n    out = list(p.map(lambda n: n * 2, range(5)))\nout":
            [0, 2, 4, 6, 8],
        "with ThreadPoolExecutor(max_workers=2) as p:\n"
        "    fs = {p.submit(pow, n, 2): n for n in range(4)}\n"
        "    out = sorted((fs[f], f.result()) for f in as_completed(fs))\nout":
            [[0, 0], [1, 1], [2, 4], [3, 9]],
        "def bad(): raise KeyError('k')\np = ThreadPoolExecutor()\nf = p.submit(bad)\n"
        "try: f.result()\nexcept KeyError as e: out.append(str(e))\n"
        "p.shutdown()\n[out, type(f.exception()).__name__]": [["'k'"], "KeyError"],
        "p = ThreadPoolExecutor(1)\n"
        "def outer(): return p.submit(lambda: 5).result() + 1\np.submit(outer).result()": 6,
        "p = ThreadPoolExecutor()\nf = p.submit(time.sleep, 0.05)\n"
        "try: f.result(timeout=0.01)\nexcept TimeoutError: out.append('late')\nout": ["late"],
        "p = ThreadPoolExecutor()\nfs = [p.submit(lambda: 1) for _ in range(3)]\n"
        "done, left = wait(fs)\n[len(done), len(left)]": [3, 0],
        "p = ThreadPoolExecutor()\nf = p.submit(lambda: 1)\n[f.cancel(), f.cancelled()]":
            [True, True],
        "f = ThreadPoolExecutor().submit(lambda: 1)\nf.add_done_callback(lambda f: "
        "out.append(f.result()))\nwhile not f.done(): time.sleep(0.01)\nout": [1],
        "q = queue.Queue()\ndef consume():\n    while (n := q.get()) is not None: out.append(n)\n"
        "t = Thread(target=consume)\nt.start()\nfor n in range(3): q.put(n)\nq.put(None)\n"
        "t.join()\nout": [0, 1, 2],
        "q = queue.Queue()\ndef produce():\n    for n in range(3): q.put(n)\n    q.put(None)\n"
        "def consume():\n    while (n := q.get()) is not None: out.append(n)\n"
        "ts = [Thread(target=consume), Thread(target=produce)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\nout": [0, 1, 2],
        "q = queue.Queue()\ndef work():\n    while True:\n        out.append(q.get() * 2)\n"
        "        q.task_done()\n"
        "for _ in range(3): Thread(target=work, daemon=True).start()\n"
        "for n in range(5): q.put(n)\nq.join()\nsorted(out)": [0, 2, 4, 6, 8],
        "b = threading.Barrier(3)\ndef meet(n):\n    b.wait()\n    out.append(n)\n"
        "ts = [Thread(target=meet, args=(n,)) for n in range(3)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\nsorted(out)": [0, 1, 2],
        "e = threading.Event()\ndef late():\n    e.wait()\n    out.append('woken')\n"
        "t = Thread(target=late)\nt.start()\ne.set()\nt.join()\nout": ["woken"],
        "e = threading.Event()\nThread(target=e.set).start()\n[e.wait(), e.is_set()]":
            [True, True],
        "s = threading.Semaphore(2)\ndef use(n):\n    with s: out.append(n)\n"
        "ts = [Thread(target=use, args=(n,)) for n in range(4)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\nout": [0, 1, 2, 3],
        "c = threading.Condition()\nready = []\n"
        "def consume():\n    with c:\n        c.wait_for(lambda: ready)\n"
        "        out.append(ready[0])\n"
        "def produce():\n    with c:\n        ready.append(7)\n        c.notify_all()\n"
        "ts = [Thread(target=consume), Thread(target=produce)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\nout": [7],
        "l = threading.local()\nl.x = 'main'\n"
        "def see(n):\n    out.append(getattr(l, 'x', None))\n    l.x = n\n"
        "ts = [Thread(target=see, args=(n,)) for n in range(2)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\n[out, l.x]": [[None, None], "main"],
        "def who(): out.append(threading.current_thread().name)\n"
        "t = Thread(target=who, name='worker')\nt.start()\nt.join()\n"
        "[out, threading.current_thread() is threading.main_thread()]": [["worker"], True],
        "class Own(Thread):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.n = n\n    def run(self): self.result = self.n ** 2\n"
        "t = Own(4)\nt.start()\nt.join()\nt.result": 16,
        "t = threading.Timer(0.01, out.append, ('fired',))\nt.start()\nt.join()\nout": ["fired"],
        "t = threading.Timer(9, out.append, ('fired',))\nt.start()\nt.cancel()\nt.join()\nout": [],
        "r = threading.RLock()\ndef f(n):\n    with r: return n and 1 + f(n - 1)\nf(3)": 3,
        "stop = threading.Event()\n"
        "def work():\n    while not stop.is_set():\n        out.append(1)\n"
        "        time.sleep(0.005)\n"
        "Thread(target=work).start()\nThread(target=stop.set).start()\ntime.sleep(0.02)\nlen(out)":
            1,
        "t = Thread(target=out.append, args=(1,))\n"
        "before = t.is_alive()\nt.start()\nwhile t.is_alive(): pass\n[before, out]": [False, [1]],
        "ctx = []\ndef init(n): ctx.append(n)\n"
        "with ThreadPoolExecutor(2, initializer=init, initargs=(5,)) as p:\n"
        "    list(p.map(str, range(6)))\nctx": [5, 5],
        "import _thread\n_thread.start_new_thread(out.append, (1,))\ntime.sleep(0.01)\nout": [1],
        "q = queue.SimpleQueue()\nThread(target=q.put, args=(3,)).start()\nq.get()": 3,
        "from _wardian.threads import ThreadPool\nwith ThreadPool(3) as p:\n"
        "    out = [p.map(abs, [-1, 2]), p.starmap(pow, [(2, 3)]), p.apply(len, ('ab',)),\n"
        "           list(p.imap(str, range(2))), p.apply_async(max, (1, 2)).get()]\nout":
            [[1, 2], [8], 2, ["0", "1"], 2],
    }.items()
}

_IMPOSSIBLE = [
    _HEAD + source
    for source in [
        "l = threading.Lock()\nl.acquire()\nl.acquire()\n",
        "s = threading.Semaphore(0)\ns.acquire()\n",
        "threading.Event().wait()\n",
        "queue.Queue().get()\n",
        "threading.Barrier(2).wait()\n",
        "c = threading.Condition()\nwith c: c.wait()\n",
        "a, b = threading.Event(), threading.Event()\n"
        "def ping():\n    for _ in range(3):\n        a.wait(); a.clear(); b.set()\n"
        "def pong():\n    for _ in range(3):\n        b.wait(); b.clear(); a.set()\n"
        "ts = [Thread(target=ping), Thread(target=pong)]\n[t.start() for t in ts]\na.set()\n"
        "[t.join() for t in ts]\n",
        "q = queue.Queue(1)\ndef produce():\n    for n in range(3): q.put(n)\n"
        "def consume():\n    for _ in range(3): q.get()\n"
        "ts = [Thread(target=produce), Thread(target=consume)]\n[t.start() for t in ts]\n"
        "[t.join() for t in ts]\n",
        "stop = threading.Event()\n"
        "def work():\n    while not stop.is_set(): time.sleep(0.005)\n"
        "t = Thread(target=work)\nt.start()\ntime.sleep(0.02)\nstop.set()\nt.join()\n",
        "def beat():\n    while True: time.sleep(0.005)\n"
        "Thread(target=beat, daemon=True).start()\ntime.sleep(0.02)\ntime.sleep(0.02)\n",
    ]
]
