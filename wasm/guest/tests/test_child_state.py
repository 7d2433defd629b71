"""What a child does is not seen by its parent, and the parent's state not by the child."""

from __future__ import annotations

import os

from tests.support import Sandbox, places

CHILD = """
import os, sys, random, warnings, logging, json, socket, gc, decimal, signal, threading, locale, builtins, csv
import atexit, asyncio, argparse, linecache, pathlib, subprocess, weakref
sys.argv.append('x'); sys.path.insert(0, '/child'); os.environ['CHILD'] = '1'; os.environ.pop('HOME', None)
os.makedirs('deep', exist_ok=True); os.chdir('deep'); os.umask(0o077)
random.seed(5); warnings.simplefilter('error'); logging.basicConfig(level=1); logging.disable(50)
logging.getLogger('child').setLevel(1); logging.getLogger('asyncio').addHandler(logging.StreamHandler())
json.dumps = len; json.new_name = 3; json.JSONEncoder.default = lambda *a: 'x'; pathlib.Path.read_text = None
argparse.ArgumentParser.child = 1; del linecache.getlines
socket.setdefaulttimeout(3); gc.disable(); gc.set_threshold(1); decimal.getcontext().prec = 3
signal.signal(signal.SIGTERM, lambda *a: None); signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.setrecursionlimit(50_000); sys.set_int_max_str_digits(700); sys.setswitchinterval(1)
sys.excepthook = sys.displayhook = print; builtins.open = None; builtins.child = 1; csv.field_size_limit(1)
atexit.register(lambda: None); threading.excepthook = print; threading.current_thread().name = 'child'
sys.stdout = sys.stderr = None; sys.meta_path.insert(0, None); sys.path_hooks.clear()
os.getcwd = None; asyncio.run = None; sys.settrace(lambda *a: None)
locale.setlocale(locale.LC_ALL, 'C'); sys.modules['invented'] = os; sys.modules.pop('json'); subprocess.run = None
"""

OBSERVED = """
import os, sys, random, warnings, logging, json, socket, gc, decimal, signal, threading, locale, builtins, csv
import atexit, asyncio, argparse, linecache, pathlib, subprocess
def observe():
    return dict(
        argv=list(sys.argv), path=list(sys.path), env=dict(os.environ), folder=os.getcwd(),
        random=random.getstate(), filters=list(warnings.filters),
        root=(list(logging.root.handlers), logging.root.level), disabled=logging.root.manager.disable,
        loggers=sorted(logging.root.manager.loggerDict), asyncio=list(logging.getLogger('asyncio').handlers),
        json=dict(vars(json)), encoder=dict(vars(json.JSONEncoder)), path_class=dict(vars(pathlib.Path)),
        parser=dict(vars(argparse.ArgumentParser)), linecache=sorted(vars(linecache)),
        timeout=socket.getdefaulttimeout(), gc=(gc.isenabled(), gc.get_threshold()),
        precision=decimal.getcontext().prec,
        signals=[signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)],
        limits=(sys.getrecursionlimit(), sys.get_int_max_str_digits(), sys.getswitchinterval()),
        hooks=(sys.excepthook, sys.displayhook, threading.excepthook, sys.gettrace()),
        builtins=dict(vars(builtins)), field=csv.field_size_limit(), exits=atexit._ncallbacks(),
        thread=threading.current_thread().name, threads=threading.enumerate(), streams=(sys.stdout, sys.stderr),
        finders=list(sys.meta_path), path_hooks=list(sys.path_hooks), run=asyncio.run, popen=vars(subprocess),
        locale=locale.setlocale(locale.LC_ALL), modules=set(sys.modules), main=sys.modules['__main__'],
    )
"""


class State(Sandbox):
    def write(self, name: str, text: str) -> None:
        path = f"{places.WORKSPACE}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def test_nothing_of_a_child_is_seen_by_its_parent(self):
        self.write("child.py", CHILD)
        value = self.returns(
            OBSERVED + "subprocess.run([sys.executable, '-c', ''])\nbefore = observe()\n"
            "code = subprocess.run([sys.executable, 'child.py'], stderr=subprocess.PIPE)\n"
            "after = observe()\n"
            "[code.returncode, code.stderr.decode(), [k for k in before if before[k] != after[k]],\n"
            " sorted(after['modules'] - before['modules'])]"
        )
        self.assertEqual(value, [0, "", [], []])

    def test_a_child_begins_as_a_new_process(self):
        self.write("helper.py", "print('imported by', __name__)")
        self.write(
            "child.py",
            "import sys, os, random, logging, warnings, threading, decimal, signal, atexit, gc\n"
            "import helper\n"
            "print(len(logging.root.handlers), logging.root.level, random.random() != float(sys.argv[1]),\n"
            "      len(threading.enumerate()), decimal.getcontext().prec, signal.getsignal(signal.SIGTERM) == 0,\n"
            "      gc.isenabled(), 'main' in sys.modules, sys.exc_info()[0], sys.getrecursionlimit(),\n"
            "      'parent_only' in sys.modules, os.environ.get('X'), sys.path[0] == os.getcwd(), atexit._ncallbacks())\n",
        )
        value = self.returns(
            "import sys, os, random, logging, warnings, threading, decimal, signal, atexit, gc, subprocess, types\n"
            "sys.path.append(os.getcwd())\nimport helper\n"
            "sys.path.insert(0, '/parent'); sys.modules['parent_only'] = types.ModuleType('parent_only')\n"
            "random.seed(1); text = repr(random.random()); random.seed(1)\n"
            "logging.basicConfig(level=10); decimal.getcontext().prec = 4; os.environ['X'] = 'seen'\n"
            "signal.signal(signal.SIGTERM, print); gc.disable(); threading.Thread(target=print).start()\n"
            "sys.setrecursionlimit(5000); atexit.register(str)\n"
            "out = subprocess.check_output([sys.executable, 'child.py', text], text=True)\n"
            "gc.enable(); signal.signal(signal.SIGTERM, signal.SIG_DFL); sys.setrecursionlimit(1000)\n"
            "sys.path.remove('/parent'); helper = None\n"
            "logging.root.handlers.clear(); logging.root.setLevel(30); decimal.getcontext().prec = 28\n"
            "out.split('\\n')"
        )
        self.assertEqual(
            value,
            ["imported by helper", "0 30 True 1 28 True True False None 1000 False seen True 0", ""],
        )

    def test_a_module_of_the_program_is_imported_anew(self):
        self.write("shared.py", "VALUES = []\n")
        self.write("child.py", "import shared\nshared.VALUES.append(1)\nprint(shared.VALUES)")
        value = self.returns(
            "import subprocess, sys\nsys.path.append(sys.modules['os'].getcwd())\nimport shared\nshared.VALUES.append(0)\n"
            "outs = [subprocess.check_output([sys.executable, 'child.py'], text=True) for _ in range(2)]\n"
            "[outs, shared.VALUES, sys.modules['shared'] is shared]"
        )
        self.assertEqual(value, [["[1]\n", "[1]\n"], [0], True])

    def test_relative_folders_of_modules_are_those_of_the_child(self):
        for folder in ("one", "two"):
            self.write(f"{folder}/lib/where.py", f"NAME = '{folder}'")
            self.write(f"{folder}/main.py", "import sys\nsys.path.insert(0, 'lib')\nimport where\nprint(where.NAME)")
        value = self.returns(
            "import subprocess, sys\n"
            "[subprocess.check_output([sys.executable, 'main.py'], cwd=f, text=True) for f in ('one', 'two', 'one')]"
        )
        self.assertEqual(value, ["one\n", "two\n", "one\n"])

    def test_children_of_children_have_a_bound(self):
        self.write(
            "nest.py",
            "import subprocess, sys\nn = int(sys.argv[1])\nprint(n, flush=True)\n"
            "if n: sys.exit(subprocess.call([sys.executable, __file__, str(n - 1)]))",
        )
        source = (
            "import subprocess, sys\ndef main(n):\n"
            "    r = subprocess.run([sys.executable, 'nest.py', str(n)], capture_output=True, text=True)\n"
            "    return [r.returncode, r.stdout.split(), r.stderr.strip().split('\\n')[-1][:45]]\n"
            "main({})"
        )
        self.assertEqual(self.returns(source.format(4)), [0, ["4", "3", "2", "1", "0"], ""])
        code, printed, reason = self.returns(source.format(20))
        self.assertEqual((code, len(printed)), (1, 8))
        self.assertEqual(reason, "BlockingIOError: [Errno 11] Resource temporar")

    def test_a_child_runs_within_a_running_loop_and_a_thread(self):
        self.write("child.py", "import asyncio\nasync def main(): print(asyncio.current_task() is not None)\nasyncio.run(main())")
        value = self.returns(
            "import asyncio, subprocess, sys\nfrom concurrent.futures import ThreadPoolExecutor\n"
            "call = lambda: subprocess.check_output([sys.executable, 'child.py'], text=True)\n"
            "async def work():\n"
            "    task = asyncio.current_task()\n"
            "    first = call()\n"
            "    await asyncio.sleep(0)\n"
            "    return [first, await asyncio.to_thread(call), asyncio.current_task() is task]\n"
            "with ThreadPoolExecutor(2) as pool: many = [f.result() for f in [pool.submit(call) for _ in range(3)]]\n"
            "[asyncio.run(work()), many]"
        )
        self.assertEqual(value, [["True\n", "True\n", True], ["True\n"] * 3])

    def test_the_exception_that_the_parent_handles_is_not_the_child_s(self):
        value = self.returns(
            "import subprocess, sys\n"
            "try: {}['a']\n"
            "except KeyError:\n"
            "    r = subprocess.run([sys.executable, '-c', '1/0'], capture_output=True, text=True)\n"
            "r.stderr"
        )
        self.assertNotIn("KeyError", value)
        self.assertIn("ZeroDivisionError", value)

    def test_descriptors_are_closed_and_files_flushed(self):
        self.write("child.py", "import os\nraw = os.open('raw', os.O_CREAT | os.O_WRONLY)\nclass A: pass\na = A(); a.me = a\n"
                   "a.file = open('kept', 'w'); a.file.write('kept')")
        value = self.returns(
            "import subprocess, sys, os\n"
            "def count():\n    return [n for n in range(3, 100) if os.path.exists(f'/proc/self/fd/{n}')]\n"
            "before = count()\nsubprocess.check_call([sys.executable, 'child.py'])\n"
            "[count() == before, open('kept').read(), sorted(os.listdir('.'))]"
        )
        self.assertEqual(value, [True, "kept", ["child.py", "kept", "raw"]])

    def test_a_child_cannot_close_the_files_of_its_parent(self):
        self.write("child.py", "import os, sys\nos.closerange(0, 256)\ntry: os.close(int(sys.argv[1]))\n"
                   "except OSError: open('refused', 'w').close()")
        value = self.returns(
            "import subprocess, sys, os\n"
            "f = open('mine', 'w')\n"
            "code = subprocess.run([sys.executable, 'child.py', str(f.fileno())], stdout=subprocess.PIPE).returncode\n"
            "f.write('still'); f.close()\n"
            "[os.path.exists('refused'), open('mine').read(),\n"
            " subprocess.check_output([sys.executable, '-c', 'print(1)'], text=True)]"
        )
        self.assertEqual(value, [True, "still", "1\n"])

    def test_cells_start_children(self):
        self.write("child.py", "import sys\nprint(len(sys.argv), __name__)")
        self.gives("import subprocess, sys\nx = 5")
        self.assertEqual(self.gives("subprocess.check_output([sys.executable, 'child.py', 'a'], text=True)"), "2 __main__\n")
        self.assertEqual(self.gives("x, __name__, sys.modules['__main__'].x"), [5, "__main__", 5])
        self.gives("p = subprocess.Popen([sys.executable, '-c', 'open(\"left\", \"w\").write(\"1\")'])")
        self.assertEqual(self.gives("open('left').read()"), "1")
