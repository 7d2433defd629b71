"""Conditions, events, semaphores and queues without a second thread."""

from __future__ import annotations

import threading

from _wardian import waiting
from tests.support import Sandbox


class Waiting(Sandbox):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, threading.Condition, "wait", threading.Condition.wait)
        waiting.install()

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
            "    return [*found, time.monotonic() - began >= 0.09]\n"
        )
        self.assertEqual(self.returns(source), [False, False, "empty", "timeout", False, True])

    def test_what_is_there_already_is_not_waited_for(self):
        source = (
            "import queue, threading\n"
            "def main(args):\n"
            "    event, things = threading.Event(), queue.Queue()\n"
            "    event.set(); things.put(1)\n"
            "    return [event.wait(), things.get(), threading.Semaphore(1).acquire()]\n"
        )
        self.assertEqual(self.returns(source), [True, 1, True])

    def test_waiting_for_ever_is_an_error_that_says_why(self):
        for waits in ["threading.Event().wait()", "queue.Queue().get()"]:
            source = f"import queue, threading\ndef main(args):\n    {waits}\n"
            raised = self.fails(source)
            self.assertEqual(raised["type"], "RuntimeError")
            self.assertIn("no threads in the sandbox", raised["message"])

    def test_the_lock_has_to_be_held(self):
        source = "import threading\ndef main(args):\n    threading.Condition().wait(0)\n"
        self.assertEqual(self.fails(source)["message"], "cannot wait on un-acquired lock")
