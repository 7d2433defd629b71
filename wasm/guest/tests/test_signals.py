"""Signals that a program sends to itself, and those of its timer."""

from __future__ import annotations

import signal

from tests.support import Sandbox


class Alarms(Sandbox):
    """The host of these tests interrupts nobody, so the signals come while the program waits."""

    def setUp(self) -> None:
        super().setUp()
        self.addCleanup(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))

    def test_a_sleep_ends_when_the_handler_raises(self):
        value = self.returns(
            "import signal, time\n"
            "def late(number, frame):\n"
            "    raise TimeoutError(f'{number} in {frame.f_code.co_name}')\n"
            "def main():\n"
            "    signal.signal(signal.SIGALRM, late)\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.02)\n"
            "    start = time.monotonic()\n"
            "    try: time.sleep(30)\n"
            "    except TimeoutError as error: return str(error), time.monotonic() - start < 5\n"
        )
        self.assertEqual(value, ["14 in main", True])

    def test_a_sleep_goes_on_after_a_handler_that_returns(self):
        value = self.returns(
            "import signal, time\n"
            "def main():\n"
            "    calls = []\n"
            "    signal.signal(signal.SIGALRM, lambda *call: calls.append(1))\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)\n"
            "    start = time.monotonic()\n"
            "    time.sleep(0.2)\n"
            "    took = time.monotonic() - start\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0)\n"
            "    return took >= 0.2, len(calls) >= 5\n"
        )
        self.assertEqual(value, [True, True])

    def test_waiting_for_threads_that_never_come_ends_by_the_alarm(self):
        value = self.returns(
            "import queue, select, signal, socket, threading\n"
            "class Late(Exception): pass\n"
            "def late(number, frame): raise Late\n"
            "def main():\n"
            "    signal.signal(signal.SIGALRM, late)\n"
            "    one, two = socket.socketpair()\n"
            "    lock = threading.Lock()\n"
            "    lock.acquire()\n"
            "    ended = []\n"
            "    waits = (queue.Queue().get, threading.Event().wait, lock.acquire, signal.pause,\n"
            "             lambda: one.recv(1), lambda: select.select([one], [], []),\n"
            "             lambda: select.select([], [], [], 30))\n"
            "    for wait in waits:\n"
            "        signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
            "        try: wait()\n"
            "        except Late: ended.append(True)\n"
            "    return ended\n"
        )
        self.assertEqual(value, [True] * 7)

    def test_asyncio_hears_signals_and_waits_for_them(self):
        value = self.returns(
            "import asyncio, signal\n"
            "async def main():\n"
            "    heard, loop = asyncio.Event(), asyncio.get_running_loop()\n"
            "    loop.add_signal_handler(signal.SIGALRM, heard.set)\n"
            "    signal.alarm(1)\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
            "    await heard.wait()\n"
            "    return [loop.remove_signal_handler(signal.SIGALRM) for _ in range(2)]\n"
        )
        self.assertEqual(value, [True, False])

    def test_what_was_left_is_returned(self):
        value = self.returns(
            "import signal\n"
            "def main():\n"
            "    signal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
            "    found = [signal.alarm(10), signal.alarm(3), signal.alarm(0), signal.alarm(0)]\n"
            "    signal.setitimer(signal.ITIMER_REAL, 100, 7)\n"
            "    rest, interval = signal.getitimer(signal.ITIMER_REAL)\n"
            "    found += [99 < rest <= 100, interval, signal.setitimer(0, 0)[1]]\n"
            "    return found + [signal.getitimer(0), signal.getsignal(signal.SIGALRM).name]\n"
        )
        self.assertEqual(value, [0, 10, 3, 0, True, 7.0, 7.0, [0.0, 0.0], "SIG_IGN"])

    def test_handlers_are_what_the_program_has_set(self):
        value = self.returns(
            "import signal\n"
            "def own(*call): pass\n"
            "def main():\n"
            "    signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
            "    signal.alarm(100)\n"
            "    shown = [signal.getsignal(signal.SIGALRM).name]\n"
            "    shown.append(signal.signal(signal.SIGALRM, own).name)\n"
            "    shown.append(signal.signal(signal.SIGALRM, signal.SIG_DFL) is own)\n"
            "    signal.alarm(0)\n"
            "    return shown\n"
        )
        self.assertEqual(value, ["SIG_DFL", "SIG_DFL", True])

    def test_mistakes_are_those_of_natives(self):
        for call, kind, text in (
            ("signal.alarm(1.5)", "TypeError", "cannot be interpreted as an integer"),
            ("signal.setitimer(signal.ITIMER_REAL, -1)", "itimer_error", "Invalid argument"),
            ("signal.setitimer(7, 1)", "itimer_error", "Invalid argument"),
            ("signal.getitimer(7)", "itimer_error", "Invalid argument"),
            ("signal.setitimer(signal.ITIMER_VIRTUAL, 1)", "OSError", "use signal.ITIMER_REAL"),
            ("signal.pause()", "OSError", "no signal arrives here"),
        ):
            with self.subTest(call=call):
                report = self.fails(f"import signal\n{call}")
                self.assertEqual(report["type"].rpartition(".")[2], kind)
                self.assertIn(text, report["message"])

    def test_the_timer_ends_with_the_program(self):
        self.returns("import signal\ndef main(): signal.alarm(100)")
        self.assertEqual(self.timer, (0.0, 0.0))
        self.fails("import signal\nsignal.alarm(100)\n1 / 0")
        self.assertEqual(self.timer, (0.0, 0.0))
