"""Children in the guest end, print and leave what the same programs do as processes."""

from __future__ import annotations

from tests.native import PYTHON, Compared

PROGRAMS: dict[str, str] = {
    "prints": "print('hello', 'wörld')",
    "both streams": "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('more')",
    "low writes": "import os\nos.write(1, b'one\\n')\nos.write(2, b'two\\n')\nprint('three', flush=True)",
    "arguments": "import sys\nprint(sys.argv)",
    "main guard": "def main():\n    print(__name__, __file__)\nif __name__ == '__main__':\n    main()",
    "exit 3": "import sys\nprint('a')\nsys.exit(3)",
    "exit none": "import sys\nsys.exit()",
    "exit text": "import sys\nsys.exit('it went wrong')",
    "exit object": "import sys\nsys.exit(['a', 1])",
    "exit 256": "raise SystemExit(256)",
    "exit -1": "raise SystemExit(-1)",
    "exit true": "raise SystemExit(True)",
    "quit": "quit(4)",
    "uncaught": "def f(x):\n    return 1 / x\n\nf(0)",
    "chained": "try:\n    {}['a']\nexcept KeyError as error:\n    raise ValueError('b') from error",
    "context": "try:\n    {}['a']\nexcept KeyError:\n    [][1]",
    "group": "raise ExceptionGroup('many', [ValueError('a'), TypeError('b')])",
    "missing module": "import no_such_module_here",
    "note": "error = ValueError('a')\nerror.add_note('remember')\nraise error",
    "syntax": "print('a')\nx = = 1\n",
    "indentation": "def f():\nprint(1)\n",
    "null byte": "x = '\\0'\nprint(repr(x))",
    "coding": "# -*- coding: latin-1 -*-\nprint('plain')",
    "interrupt": "raise KeyboardInterrupt",
    "low exit": "import os\nprint('lost')\nos._exit(5)",
    "low exit flushed": "import os, sys\nprint('kept', flush=True)\ntry:\n    os._exit(6)\nfinally:\n    pass",
    "low exit caught": (
        "import os, sys\nprint('kept', flush=True)\ntry:\n    os._exit(6)\nexcept:\n    print('caught', flush=True)\n"
        "    os.write(1, b'low')\n    os.system('echo more')\nprint('on')\nsys.exit(7)"
    ),
    "signal caught": (
        "import os, signal, atexit\natexit.register(print, 'never')\ntry:\n    signal.raise_signal(signal.SIGTERM)\n"
        "except BaseException:\n    pass\ntry:\n    os._exit(3)\nfinally:\n    1 / 0"
    ),
    "at exit": "import atexit\natexit.register(print, 'bye', 1)\natexit.register(print, 'first')\nprint('main')",
    "failing at exit": "import atexit, sys\n@atexit.register\ndef f():\n    print('in exit')\nsys.exit(2)",
    "exit at exit": "import atexit, sys\n@atexit.register\ndef last(): print('last')\natexit.register(lambda: print('b'))\nsys.exit(2)",
    "destructor": "class A:\n    def __del__(self): print('gone')\na = A()\nprint('end')",
    "unclosed file": "f = open('left.txt', 'w')\nf.write('content')\nprint(open('left.txt').read() == '')",
    "logging": "import logging\nlogging.warning('careful')\nlogging.basicConfig(level=10)\nlogging.debug('d')",
    "log file": "import logging\nlogging.basicConfig(filename='a.log', level=20)\nlogging.info('x')",
    "warning": "import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('user')",
    "argparse help": (
        "import argparse\np = argparse.ArgumentParser(description='Does a thing.')\np.add_argument('file')\n"
        "p.add_argument('--count', type=int, default=1, help='how many')\nprint(p.parse_args(['--help']))"
    ),
    "argparse error": "import argparse\np = argparse.ArgumentParser()\np.add_argument('file')\np.parse_args([])",
    "input": "name = input('name? ')\nprint('hello', name)\ntry:\n    input()\nexcept EOFError as e:\n    print(repr(e))",
    "stdin": "import sys\nfor number, line in enumerate(sys.stdin):\n    print(number, line.strip())",
    "stdin bytes": "import sys\ndata = sys.stdin.buffer.read()\nsys.stdout.buffer.write(data[::-1])",
    "thread": (
        "import threading\nt = threading.Thread(target=lambda: print('in thread'))\nt.start()\nt.join()\nprint('main ends')"
    ),
    "exit in thread": (
        "import threading, sys\nt = threading.Thread(target=sys.exit, args=(3,))\nt.start()\nt.join()\nprint('on')"
    ),
    "error in thread": (
        "import threading\ndef f():\n    raise ValueError('x')\nt = threading.Thread(target=f, name='T')\n"
        "threading.excepthook = lambda a: print('hook', a.exc_type.__name__)\nt.start()\nt.join()\nprint('on')"
    ),
    "pool": (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(3) as p:\n"
        "    print(list(p.map(lambda x: x * x, range(5))))"
    ),
    "asyncio": "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    print('ran')\nasyncio.run(main())",
    "excepthook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n1 / 0",
    "recursion": (
        "import sys\nprint(sys.getrecursionlimit())\ndef f(n):\n    return n and f(n - 1)\nprint(f(900))\n"
        "sys.setrecursionlimit(3000)\nprint(sys.getrecursionlimit(), f(2500))\n"
    ),
    "too deep": "def f():\n    f()\ntry:\n    f()\nexcept RecursionError as e:\n    print(e)",
    "environment": "import os\nprint(sorted(k for k in os.environ if k not in ('PWD', 'OLDPWD', '_', 'LC_CTYPE')))",
    "folder": "import os\nos.mkdir('sub')\nos.chdir('sub')\nopen('x', 'w').close()\nprint(os.listdir())",
    "temporary": (
        "import tempfile, os\nd = tempfile.TemporaryDirectory()\nopen(d.name + '/x', 'w').close()\nprint(os.listdir(d.name))"
    ),
    "decimal": "import decimal\nprint(decimal.getcontext().prec)\ndecimal.getcontext().prec = 5\nprint(decimal.Decimal(1) / 3)",
    "random": "import random\nrandom.seed(7)\nprint(random.random())",
    "locale": "import locale\nprint(locale.setlocale(locale.LC_NUMERIC), f'{1234567:n}')",
    "signal": (
        "import signal\nprint(signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)\n"
        "signal.signal(signal.SIGTERM, lambda *a: print('term'))\nsignal.raise_signal(signal.SIGTERM)"
    ),
    "killed": "import signal\nprint('a', flush=True)\nsignal.raise_signal(signal.SIGTERM)",
    "gc": "import gc\nprint(gc.isenabled(), gc.get_threshold()[0] > 0)\ngc.disable()",
    "dataclass": (
        "from dataclasses import dataclass\nimport pickle, typing\n@dataclass\nclass P:\n    x: int\n"
        "print(pickle.loads(pickle.dumps(P(3))), typing.get_type_hints(P))"
    ),
    "unittest": (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 1)\n"
        "unittest.main(argv=['x'], verbosity=0, exit=False, testRunner=unittest.TextTestRunner(stream=open('/dev/null', 'w')))\nprint('done')"
    ),
    "main module": "import __main__, sys\nx = 4\nprint(__main__.x, sys.modules['__main__'] is __main__)",
    "flushless": "import sys\nsys.stdout.write('no newline')",
    "closed stdout": "import sys\nsys.stdout.close()",
    "redirected": "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as s:\n    print('x')\nprint(len(s.getvalue()))",
    "dir of script": "import sys, os\nprint(os.path.samefile(sys.path[0], os.path.dirname(__file__)))",
    "multiprocessing": "import multiprocessing\nprint(multiprocessing.current_process().name)",
    "devices": (
        "import os\ntext = open('/dev/stdin').read()\nwith open('/dev/stdout', 'w') as f: f.write(text + 'dev')\n"
        "n = os.open('/dev/stderr', os.O_WRONLY)\nos.write(n, b'err')\nos.close(n)"
    ),
    "isatty": "import sys\nprint(sys.stdin.isatty(), sys.stdout.isatty(), sys.stdout.name, sys.stderr.errors)",
    "streams": "import sys\nprint(sys.stdout.encoding, sys.stdout.fileno(), sys.stdin.fileno(), sys.stderr.fileno())",
    "getpass user": "import os\nprint(os.getpid() != os.getppid())",
    "json out": "import json, sys\njson.dump({'a': [1, 2]}, sys.stdout)",
    "trace print": "import traceback\ntry:\n    1/0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
    "assertion": "assert 1 == 2, 'no'",
    "exec": "exec('print(__name__)')",
}

ARGUMENTS: dict[str, list[str]] = {
    "code": ["-c", "import sys; print(sys.argv, sys.path[0] == '')", "a", "-x"],
    "code error": ["-c", "1/0"],
    "code syntax": ["-c", "x ="],
    "joined code": ["-cprint(1)"],
    "nothing for c": ["-c"],
    "version": ["--version"],
    "short version": ["-V"],
    "unknown": ["--nothing"],
    "unknown letter": ["-k"],
    "missing file": ["none.py", "a"],
    "missing module": ["-m", "no_such_module"],
    "missing part": ["-m", "json.nothing"],
    "json tool": ["-m", "json.tool", "data.json"],
    "module": ["-m", "package.part", "x", "y"],
    "package": ["-m", "package", "x"],
    "package without main": ["-m", "plain"],
    "options": ["-u", "-B", "-E", "-s", "-W", "error", "-X", "utf8", "echo.py", "-c", "x"],
    "warning is error": ["-W", "error::UserWarning", "-c", "import warnings; warnings.warn('x')"],
    "warning ignored": ["-Wignore", "-c", "import warnings; warnings.warn('x')"],
    "no asserts": ["-O", "-c", "assert False; print(1)"],
    "isolated": ["-I", "helper_user.py"],
    "helper": ["helper_user.py"],
    "below": ["below/tool.py"],
    "folder": ["folder"],
    "base64": ["-m", "base64", "-t"],
    "end of options": ["--", "echo.py", "a"],
    "tests": ["-m", "unittest", "-q", "none_such"],
    "calendar": ["-m", "calendar", "2024", "2"],
}

FILES = {
    "data.json": '{"b": 1, "a": [1, 2]}',
    "package/__init__.py": "print('package', __name__)",
    "package/__main__.py": "import sys\nprint('main of', __name__, __package__, len(sys.argv), sys.argv[1:])",
    "package/part.py": "import sys\nfrom . import other\nprint(__name__, __package__, sys.argv[1:], other.VALUE)",
    "package/other.py": "VALUE = 7",
    "plain/__init__.py": "",
    "echo.py": "import sys\nprint(sys.argv)",
    "helper.py": "NAME = __name__",
    "helper_user.py": "import helper\nprint(helper.NAME)",
    "below/tool.py": "import sys, near\nprint(near.X, sys.argv[0], __file__.endswith('below/tool.py'))",
    "below/near.py": "X = 'near'",
    "folder/__main__.py": "import sys, inside\nprint(__name__, sys.argv, inside.Y)",
    "folder/inside.py": "Y = 2",
}


class Programs(Compared):
    def test_programs_end_as_natively(self):
        for name, source in PROGRAMS.items():
            with self.subTest(name):
                files = {"program.py": source}
                self.compare([PYTHON, "program.py", "a", "b c"], files, b"one\ntwo\n")

    def test_streams_are_joined_as_natively(self):
        for name in ("both streams", "uncaught", "low writes", "logging", "input", "trace print"):
            with self.subTest(name):
                self.compare([PYTHON, "program.py"], {"program.py": PROGRAMS[name]}, b"x\n", joined=True)

    def test_command_lines_are_read_as_natively(self):
        for name, words in ARGUMENTS.items():
            with self.subTest(name):
                self.compare([PYTHON, *words], FILES)

    def test_a_program_may_come_on_the_standard_input(self):
        for words in ([], ["-"], ["-", "a"], ["-u", "-", "a"]):
            with self.subTest(words):
                self.compare([PYTHON, *words], {}, b"import sys\nprint(sys.argv, __name__)\n1/0\n")


del Compared  # it has no tests of its own
