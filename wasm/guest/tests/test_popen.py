"""`subprocess.Popen` and what else starts children: when they run, their streams, their ends."""

from __future__ import annotations

import _signal

from tests.support import Sandbox

START = "import subprocess, sys, os, time, asyncio, signal\nos.environ.pop('PYTHONUNBUFFERED', None)\nfrom subprocess import PIPE, STDOUT, DEVNULL, Popen, run\npy = sys.executable\n"


class Children(Sandbox):
    def _timer(self, request: bytes) -> bytes:
        answer = super()._timer(request)
        if request[0] == 1:  # the timer of this process interrupts in the place of the host
            _signal.setitimer(0, *(int.from_bytes(request[at : at + 8], "little") / 1e9 for at in (1, 9)))
        return answer

    def tearDown(self) -> None:
        _signal.setitimer(0, 0.0)

    def check(self, source: str, expected: object) -> None:
        self.assertEqual(self.returns(START + source), expected)

    def test_streams_are_pipes_files_or_nothing(self):
        self.check(
            "code = 'import sys; print(sys.stdin.read()); print(\"e\", file=sys.stderr)'\n"
            "a = run([py, '-c', code], input='in', capture_output=True, text=True)\n"
            "b = run([py, '-c', code], input=b'in', stdout=PIPE, stderr=STDOUT)\n"
            "c = run([py, '-c', code], stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE)\n"
            "with open('in.txt', 'w') as f: f.write('from file')\n"
            "with open('in.txt') as f, open('out.txt', 'w') as g: run([py, '-c', code], stdin=f, stdout=g, stderr=STDOUT)\n"
            "d = run([py, '-c', 'print(chr(228))'], stdout=PIPE, encoding='utf-8')\n"
            "e = run([py, '-c', 'print(1); print(2)'], stdout=PIPE, universal_newlines=True)\n"
            "[a.stdout, a.stderr, b.stdout.decode(), b.stderr, c.stdout, c.stderr.decode(), open('out.txt').read(),\n"
            " d.stdout, e.stdout]",
            ["in\n\n".replace("\n\n", "\n"), "e\n", "e\nin\n", None, None, "e\n", "e\nfrom file\n", "ä\n", "1\n2\n"],
        )

    def test_errors_have_the_types_that_programs_expect(self):
        self.check(
            "found = []\n"
            "for call in (lambda: run([py, '-c', 'import sys; print(7); sys.exit(2)'], check=True, stdout=PIPE),\n"
            "             lambda: subprocess.check_call([py, '-c', '1/0'], stderr=DEVNULL),\n"
            "             lambda: subprocess.check_output([py, '-c', 'exit(3)']),\n"
            "             lambda: run([py, '-c', '0'], cwd='no/such'), lambda: run([py, '-c', '0'], env={'A': 1}),\n"
            "             lambda: run(['git', 'log']), lambda: run(['./none.sh']), lambda: run([]),\n"
            "             lambda: run([py, '-c', '\\0'])):\n"
            "    try: found.append(call())\n"
            "    except Exception as e:\n"
            "        found.append([type(e).__name__, getattr(e, 'returncode', None), getattr(e, 'filename', None)])\n"
            "found",
            [
                ["CalledProcessError", 2, None],
                ["CalledProcessError", 1, None],
                ["CalledProcessError", 3, None],
                ["FileNotFoundError", None, "no/such"],
                ["TypeError", None, None],
                ["FileNotFoundError", None, "git"],
                ["FileNotFoundError", None, "./none.sh"],
                ["IndexError", None, None],
                ["ValueError", None, None],
            ],
        )

    def test_a_child_is_polled_read_and_fed(self):
        self.check(
            "echo = [py, '-c', 'import sys\\nfor line in sys.stdin: print(line.strip().upper())']\n"
            "p = Popen(echo, stdin=PIPE, stdout=PIPE, text=True)\n"
            "p.stdin.write('a\\nb\\n'); first = p.poll(); p.stdin.close()\n"
            "lines = list(p.stdout); p.wait()\n"
            "q = Popen(echo, stdin=PIPE, stdout=PIPE)\n"
            "out = q.communicate(b'x\\ny\\n')\n"
            "r = Popen([py, '-c', 'print(5)'], stdout=PIPE, text=True)\n"
            "polls = []\n"
            "while r.poll() is None: polls.append(1)\n"
            "s = Popen(echo, stdin=PIPE, stdout=PIPE, text=True, bufsize=1)\n"
            "s.stdin.write('now\\n'); s.stdin.flush(); line = s.stdout.readline()\n"
            "try: s.stdin.write('late\\n'); s.stdin.flush(); late = 0\n"
            "except BrokenPipeError: late = 1\n"
            "with Popen([py, '-c', 'print(6)'], stdout=PIPE) as t: six = t.stdout.read()\n"
            "w = Popen([py, '-c', 'import os; print(os.getpid(), os.getppid())'], stdout=PIPE, text=True)\n"
            "assert w.communicate()[0].split() == [str(w.pid), str(os.getpid())]\n"
            "u = Popen([py, '-c', 'print(1)'], stdout=PIPE)\n"
            "v = Popen(echo, stdin=u.stdout, stdout=PIPE)\n"
            "[first, lines, p.returncode, out[0].decode(), len(polls), r.stdout.read(), line, late, six.decode(),\n"
            " t.returncode, v.communicate()[0].decode(), u.wait()]",
            [None, ["A\n", "B\n"], 0, "X\nY\n", 1, "5\n", "NOW\n", 1, "6\n", 0, "1\n", 0],
        )

    def test_children_run_in_the_order_of_their_start_when_the_parent_waits(self):
        self.check(
            "write = lambda n: Popen([py, '-c', f'open(\"log\", \"a\").write(\"{n}\")'])\n"
            "a, b = write(1), write(2)\n"
            "before = os.path.exists('log'); time.sleep(0.001); after = open('log').read()\n"
            "c = write(3); c.wait(); d = write(4); e = write(5); e.terminate()\n"
            "[before, after, open('log').read(), a.returncode, a.poll(), e.wait(), d.wait(), open('log').read()]",
            [False, "12", "123", None, 0, -15, 0, "1234"],
        )

    def test_a_child_that_nobody_waits_for_runs_at_the_end(self):
        self.check("Popen([py, '-c', 'open(\"late\", \"w\").write(\"x\")'])\nNone", None)
        self.assertEqual(open("late").read(), "x")

    def test_a_child_in_its_turn_belongs_to_the_main_thread(self):
        self.check(
            "import threading\nfrom _wardian import threads\n"
            "lock, found = threading.RLock(), []\n"
            "def start():\n"
            "    with lock: found.append(threading.current_thread() is threading.main_thread())\n"
            "threads.queue_child(start, False); time.sleep(0.001)\nfound",
            [True],
        )

    def test_a_time_limit_ends_a_child(self):
        self.check(
            "loop = 'import time\\nprint(1, flush=True)\\ntry:\\n  while True: sum(range(1000))\\nexcept Exception: pass'\n"
            "found = []\n"
            "try: run([py, '-c', loop], timeout=0.1, capture_output=True)\n"
            "except subprocess.TimeoutExpired as e: found.append([e.timeout, e.output.decode(), e.stderr])\n"
            "p = Popen([py, '-c', loop], stdout=PIPE)\n"
            "try: p.wait(timeout=0.1)\n"
            "except subprocess.TimeoutExpired: p.kill(); found.append([p.wait(), p.stdout.read().decode()])\n"
            "try: run(f'{py} -c \"while True: sum(range(1000))\"; echo never', shell=True, timeout=0.1)\n"
            "except subprocess.TimeoutExpired: found.append('shell')\n"
            "try: run([py, '-c', 'while True:\\n try: sum(range(99))\\n except: pass'], timeout=0.1)\n"
            "except subprocess.TimeoutExpired: found.append('stubborn')\n"
            "for limit in (0, 0.0001, 0.002, 0.005, 0.01):\n"
            "    try: run([py, '-c', 'while True: sum(range(99))'], timeout=limit)\n"
            "    except subprocess.TimeoutExpired: pass\n"
            "    else: found.append('not in time')\n"
            "found.append(run([py, '-c', 'print(3)'], timeout=5, stdout=PIPE).stdout.decode())\n"
            "found",
            [[0.1, "1\n", None], [-9, "1\n"], "shell", "stubborn", "3\n"],
        )

    def test_the_timer_of_the_parent_interrupts_a_child(self):
        self.check(
            "class Late(Exception): pass\n"
            "def ring(*a): raise Late\n"
            "signal.signal(signal.SIGALRM, ring)\n"
            "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
            "try: run([py, '-c', 'while True: sum(range(1000))']); found = 'ended'\n"
            "except Late: found = 'late'\n"
            "own = run([py, '-c', 'import signal, sys\\nsignal.signal(signal.SIGALRM, lambda *a: sys.exit(7))\\n'\n"
            "           'signal.setitimer(signal.ITIMER_REAL, 0.05)\\nwhile True: sum(range(99))'])\n"
            "back = signal.getsignal(signal.SIGALRM) is ring\n"
            "signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
            "[found, own.returncode, back]",
            ["late", 7, True],
        )

    def test_an_interruption_is_for_both_and_a_signal_to_oneself_is_not(self):
        self.check(
            "import posix\n"
            "own = run([py, '-c', 'import signal; signal.raise_signal(signal.SIGINT)'], stderr=DEVNULL).returncode\n"
            "code = 'import posix\\nposix.kill(posix.getpid(), 2)\\nsum(range(100))\\nopen(\"never\", \"w\")'\n"
            "try: run([py, '-c', code], stderr=DEVNULL); found = 'nothing'\n"
            "except KeyboardInterrupt: found = 'both'\n"
            "back = signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
            "[own, found, back, os.path.exists('never'), run([py, '-c', 'exit(3)']).returncode]",
            [-2, "both", True, False, 3],
        )

    def test_functions_of_os_start_children(self):
        self.check(
            "open('s.py', 'w').write('import sys; print(sys.argv[1:]); sys.exit(4)')\n"
            "status = os.system(f'{py} s.py a > out.txt 2>&1')\n"
            "with os.popen(f'{py} s.py b c') as pipe: read = pipe.read()\n"
            "closed = os.popen(f'{py} s.py').close()\n"
            "sink = os.popen(f'{py} -c \"import sys; open(1, \\'w\\') and open(\\'got\\', \\'w\\').write(sys.stdin.read())\"', 'w')\n"
            "sink.write('fed'); ended = sink.close()\n"
            "spawned = os.spawnv(os.P_WAIT, py, [py, '-c', 'exit(5)'])\n"
            "pid = os.spawnlp(os.P_NOWAIT, 'python3', 'python3', '-c', 'exit(6)')\n"
            "import posix\n"
            "[os.waitstatus_to_exitcode(status), open('out.txt').read(), read, closed, ended, open('got').read(), spawned,\n"
            " subprocess.getstatusoutput(f'{py} -c \"print(9)\"'), subprocess.getoutput('echo hi')]",
            [4, "['a']\n", "['b', 'c']\n", 4 << 8, None, "fed", 5, [0, "9"], "hi"],
        )

    def test_exec_ends_the_program_with_the_code_of_the_other(self):
        report = self.fails(START + "os.execv(py, [py, '-c', 'print(1); exit(3)'])\nopen('never', 'w')")
        self.assertEqual(report["type"], "SystemExit")
        self.assertIn("sys.exit(3)", report["message"])
        self.assertIsNone(self.returns(START + "os.execlp('python3', 'python3', '-c', '0')\nopen('never', 'w')"))

    def test_asyncio_starts_children(self):
        self.check(
            "async def main():\n"
            "    code = 'import sys; print(sys.stdin.read() or sys.argv[1]); sys.exit(2)'\n"
            "    p = await asyncio.create_subprocess_exec(py, '-c', code, 'arg', stdout=PIPE, stderr=PIPE)\n"
            "    a = await p.communicate(); codes = [p.returncode]\n"
            "    p = await asyncio.create_subprocess_exec(py, '-c', code, stdin=PIPE, stdout=PIPE)\n"
            "    b = await p.communicate(b'fed'); codes.append(p.returncode)\n"
            "    p = await asyncio.create_subprocess_shell(f'{py} -c \"print(1)\" && echo two', stdout=PIPE)\n"
            "    lines = [line.decode() async for line in p.stdout]; codes.append(await p.wait())\n"
            "    p = await asyncio.create_subprocess_exec(py, '-c', code, stdin=PIPE, stdout=PIPE)\n"
            "    p.stdin.write(b'one'); await p.stdin.drain(); c = await p.stdout.read(); codes.append(await p.wait())\n"
            "    many = await asyncio.gather(*(asyncio.create_subprocess_exec(py, '-c', 'exit(%d)' % n) for n in range(3)))\n"
            "    codes += [await p.wait() for p in many]\n"
            "    return [a[0].decode(), a[1].decode(), b[0].decode(), lines, c.decode(), codes]\n"
            "asyncio.run(main())",
            ["arg\n", "", "fed\n", ["1\n", "two\n"], "one\n", [2, 2, 0, 2, 0, 1, 2]],
        )

    def test_an_executable_script_and_the_names_of_the_interpreter(self):
        self.check(
            "open('s', 'w').write('#!/usr/bin/env python3\\nimport sys; print(sys.argv)'); os.chmod('s', 0o755)\n"
            "names = ['python', 'python3', '/usr/bin/python3', '/usr/bin/env python3', 'env A=1 python', 'bash -c', 'sh -c']\n"
            "import shutil\n"
            "[run(['./s', 'a'], stdout=PIPE, text=True).stdout, run('./s b', shell=True, stdout=PIPE, text=True).stdout,\n"
            " [run([*n.split(), *(['echo 3'] if n.endswith(' -c') else ['-c', 'print(3)'])], stdout=PIPE, text=True).stdout\n"
            "  for n in names], run(['ls'], stdout=PIPE, text=True).stdout, shutil.which('soffice')]",
            ["['./s', 'a']\n", "['./s', 'b']\n", ["3\n"] * 7, "s\n", None],
        )

    def test_descriptors_of_a_stream_can_be_used(self):
        self.check(
            "p = Popen([py, '-c', 'print(1); print(2)'], stdout=PIPE)\n"
            "first = p.stdout.readline(); rest = os.read(p.stdout.fileno(), 100) or p.stdout.read()\n"
            "p.stdout.close()\n[first.decode(), p.wait()]",
            ["1\n", 0],
        )

    def test_a_failing_preexec_fn_is_an_error_of_subprocess(self):
        self.check(
            "def fail(): raise ValueError('x')\n"
            "found = []\n"
            "for words in ([py, '-c', 'print(1)'], ['echo', 'a']):\n"
            "    try: run(words, preexec_fn=fail, stdout=PIPE, stderr=PIPE)\n"
            "    except subprocess.SubprocessError as error: found.append(str(error))\n"
            "p = Popen(['echo', 'b'], bufsize=None, stdout=PIPE)\n"
            "[found, p.communicate()[0].decode()]",
            [["Exception occurred in preexec_fn."] * 2, "b\n"],
        )

    def test_a_child_of_asyncio_can_be_killed_after_a_limit_of_time(self):
        self.check(
            "async def main():\n"
            "    p = await asyncio.create_subprocess_exec(py, '-c', 'import time; time.sleep(0.3)', stdout=PIPE)\n"
            "    try: await asyncio.wait_for(p.communicate(), 0.05)\n"
            "    except TimeoutError: pass\n"
            "    p.kill(); await p.wait()\n"
            "    try: p.kill()\n"
            "    except ProcessLookupError: return 'gone'\n"
            "asyncio.run(main())",
            "gone",
        )

    def test_an_exception_of_the_parent_s_timer_leaves_a_shell(self):
        self.check(
            "def late(*a): raise TimeoutError('late')\n"
            "signal.signal(signal.SIGALRM, late)\n"
            "found = []\n"
            "for line in ('sleep 5', 'sleep 5; echo on', f'{py} -c \"import time; time.sleep(5)\"'):\n"
            "    signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
            "    try: run(line, shell=True); found.append(None)\n"
            "    except TimeoutError as error: found.append(str(error))\n"
            "found",
            ["late"] * 3,
        )

    def test_children_of_a_child_that_ends_itself_run(self):
        self.check(
            "code = 'import os, subprocess, threading\\n' + (\n"
            "    'threading.Thread(target=print, args=(\"thread\",)).start()\\n'\n"
            "    'subprocess.Popen(\"echo a; echo b > made\", shell=True)\\nos._exit(4)')\n"
            "r = run([py, '-c', code], stdout=PIPE, text=True)\n"
            "[r.returncode, r.stdout, open('made').read()]",
            [4, "a\n", "b\n"],
        )

    def test_an_interruption_at_the_start_of_a_child_leaves_the_parent_as_it_was(self):
        self.check(
            "import logging\n"
            "kept = logging.getLogger('kept.one')\n"
            "state = sys.modules['_wardian.child_state']; folder = state.folder\n"
            "found, before = [], dict(sys.modules)\n"
            "def interrupted():\n"
            "    state.folder = folder\n"
            "    signal.raise_signal(signal.SIGINT)\n"
            "    return folder()\n"
            "state.folder = interrupted\n"
            "try: run([py, '-c', 'print(1)'], stderr=PIPE)\n"
            "except KeyboardInterrupt: found.append('interrupted')\n"
            "found + [logging.getLogger('kept.one') is kept, [n for n in before if sys.modules.get(n) is not before[n]], os.getcwd() != '']",
            ["interrupted", True, [], True],
        )
