"""Generated programs: kinds of state that live from cell to cell, mixed by a seed.

A kind has imports, a way to begin and steps that print what the state then is. In a program, several of
them take turns, some more than once, and cells are where chance puts them. What a program prints depends
on its seed alone, so that native Python prints the same where it has the modules.
"""

import dataclasses
import json
import random
import subprocess
import sys
import tempfile

from proof.corpora import Program


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of state. `~` in its code is a name of its own, `#` a small number, `$` a word."""

    imports: str
    begin: str
    steps: tuple
    is_native: bool = True
    """False if it needs what only the sandbox has for sure."""


KINDS = {
    "numbers": Kind("", "~ = #", ("~ += #; print(~)", "~ = ~ ** 3 % 1009; print(~)", "print(f'{~:+08.2f}')")),
    "generator": Kind(
        "", "def ~_go(n):\n    got = None\n    while True:\n        got = yield n, got\n        n += #\n~ = ~_go(#); print(next(~))",
        ("print(next(~))", "print(~.send('$'))", "print(~.gi_frame.f_locals['n'])"),
    ),
    "delegating": Kind(
        "", "def ~_in():\n    try:\n        while True: yield #\n    finally: print('in closed')\ndef ~_out():\n    yield 0\n    yield from ~_in()\n~ = ~_out(); print(next(~))",
        ("print(next(~, None))", "~.close(); print(~.gi_frame)", "print(~.gi_yieldfrom is None)"),
    ),
    "iterators": Kind(
        "import itertools",
        "~ = itertools.count(#, #); ~_one, ~_two = itertools.tee(itertools.cycle('$'))",
        ("print(next(~), next(~_one))", "print(next(~_one) + next(~_one))", "print(next(~_two), next(~_two))"),
    ),
    "closure": Kind(
        "import functools",
        "def ~_of(x):\n    def add(y):\n        nonlocal x\n        x += y\n        return x\n    return add\n~ = ~_of(#)\n@functools.lru_cache\ndef ~_twice(n): return n * 2",
        ("print(~(#))", "print(~_twice(#), ~_twice.cache_info())", "print(~.__closure__[0].cell_contents)"),
    ),
    "objects": Kind(
        "import gc, weakref",
        "class ~_Node:\n    def __init__(self, name): self.name, self.own = name, self\n    def __del__(self): ~_gone.append(self.name)\n~_gone = []; ~ = ~_Node('$'); ~_weak = weakref.ref(~); ~_table = weakref.WeakValueDictionary(a=~)",
        ("print(~_weak() is ~, list(~_table), ~_gone)", "~ = ~_Node('$'); gc.collect(); print(len(~_gone), list(~_table))", "print(~.own.own.name, ~.__class__.__name__)"),
    ),
    "tasks": Kind(
        "import asyncio",
        "~ = asyncio.new_event_loop(); ~_queue = asyncio.Queue(); ~_done = []\nasync def ~_work():\n    while True: ~_done.append(await ~_queue.get())\n~_task = ~.create_task(~_work()); ~.run_until_complete(asyncio.sleep(0))",
        ("~.run_until_complete(~_queue.put(#)); ~.run_until_complete(asyncio.sleep(0)); print(~_done)", "print(~_task.done(), ~_queue.qsize())", "~_queue.put_nowait('$'); print(~_queue.qsize())"),
    ),
    "coroutine": Kind(
        "import asyncio",
        "async def ~_later(n):\n    await asyncio.sleep(0)\n    return n\n~ = []; ~.append(~_later(#))",
        ("~.append(~_later(#)); print(len(~))", "print([asyncio.new_event_loop().run_until_complete(one) for one in ~]); ~.clear()"),
    ),
    "locks": Kind(
        "import threading",
        "~ = threading.RLock(); ~.acquire(); ~_event = threading.Event(); ~_local = threading.local(); ~_local.value = #; ~_some = threading.Semaphore(#)",
        ("print(~.acquire(blocking=False), ~_event.is_set())", "~_event.set(); print(~_local.value)", "print(~_some.acquire(blocking=False))", "~_local.value += #; print(~_local.value)"),
    ),
    "database": Kind(
        "import sqlite3",
        "~ = sqlite3.connect(':memory:'); ~.execute('create table t(a)'); ~.executemany('insert into t values(?)', [(n * #,) for n in range(30)]); ~_rows = ~.execute('select a from t order by a')",
        ("print(~_rows.fetchone())", "print(~_rows.fetchmany(2), ~.in_transaction)", "~.execute('insert into t values(?)', (#,)); print(~.execute('select sum(a), count(*) from t').fetchone())", "~.commit(); print(~.total_changes)"),
    ),
    "database file": Kind(
        "import sqlite3",
        "~ = sqlite3.connect('~.db'); ~.execute('create table t(a)'); ~.execute('insert into t values(#)')",
        ("print(~.in_transaction)", "~.commit(); ~.execute('insert into t values(#)'); print(~.execute('select sum(a) from t').fetchone())", "~.commit(); ~.close(); ~ = sqlite3.connect('~.db'); print(~.execute('select count(*) from t').fetchone())", "~.rollback(); print(~.execute('select count(*) from t').fetchone())"),
    ),
    "hashes": Kind(
        "import hashlib, hmac",
        "~ = [hashlib.sha256(b'$'), hashlib.blake2b(b'$', key=b'k'), hmac.new(b'$', b'', 'sha1')]",
        ("[one.update(b'$') for one in ~]; print([one.hexdigest()[:8] for one in ~])", "print(~[0].copy().hexdigest()[:9])"),
    ),
    "compressors": Kind(
        "import zlib, bz2, lzma",
        "~ = [zlib.compressobj(), bz2.BZ2Compressor(), lzma.LZMACompressor()]; ~_parts = [one.compress(b'$' * 900) for one in ~]; ~_in = zlib.decompressobj(); ~_whole = zlib.compress(b'$' * 500)",
        ("~_parts = [part + one.compress(b'$' * #) for part, one in zip(~_parts, ~)]; print(len(~_parts))", "print([len(m.decompress(p + o.copy().flush() if m is zlib else m.compress(p))) for m, p, o in zip((zlib, bz2), ~_parts, ~)])", "print(len(~_in.decompress(~_whole[:9]))); ~_whole = ~_whole[9:]"),
    ),
    "buffers": Kind(
        "import io",
        "~ = io.BytesIO(b'$' * 50); ~.read(#); ~_text = io.StringIO('one\\n$\\nthree\\n' * 9); ~_text.readline()",
        ("print(~.tell(), ~.read(#))", "print(~_text.readline())", "~.seek(#); ~.write(b'$'); print(~.getvalue()[:30])"),
    ),
    "file": Kind(
        "import os",
        "~ = open('~.txt', 'w+'); print(~.write('one\\n$\\nthree\\n' * 9)); ~.seek(4)",
        ("print(~.readline(), ~.tell())", "~.seek(0, 2); ~.write('$\\n'); ~.flush(); print(os.stat('~.txt').st_size)", "~.seek(#); print(~.read(#))"),
    ),
    "descriptors": Kind(
        "import os",
        "~ = os.open('~.bin', os.O_RDWR | os.O_CREAT | os.O_APPEND); os.write(~, b'$' * 20); ~_two = os.dup(~); os.lseek(~, #, 0)",
        ("print(os.read(~_two, 3), os.lseek(~, 0, 1))", "os.write(~, b'$'); print(os.lseek(~_two, 0, 1))", "print(os.fstat(~_two).st_size)"),
    ),
    "unlinked": Kind(
        "import os, tempfile",
        "~ = tempfile.TemporaryFile(); ~.write(b'$' * 99); ~.flush(); ~.seek(#); ~_open = open('~.gone', 'wb+'); ~_open.write(b'still $'); ~_open.flush(); os.unlink('~.gone')",
        ("print(~.read(4), ~.tell())", "~_open.seek(2); print(~_open.read(), os.path.exists('~.gone'))", "~_open.truncate(#); print(os.fstat(~_open.fileno()).st_size)"),
    ),
    "folders": Kind(
        "import os",
        "os.makedirs('~/in'); [open(f'~/{n}', 'w').close() for n in range(7)]; os.link('~/1', '~/hard'); os.symlink('1', '~/soft'); os.utime('~/1', (5, #)); ~ = os.scandir('~'); ~_seen = [next(~).name]",
        ("~_seen += [one.name for one in (next(~, None),) if one]; print(len(~_seen) == len(set(~_seen)))", "print(sorted(os.listdir('~')), os.stat('~/1').st_nlink)", "print(os.stat('~/soft').st_mtime, os.readlink('~/soft'), os.path.samefile('~/1', '~/hard'))", "print([os.unlink('~/2') for _ in '1' if os.path.exists('~/2')])"),
    ),
    "archive": Kind(
        "import gzip, io, zipfile",
        "~ = zipfile.ZipFile('~.zip', 'w', zipfile.ZIP_DEFLATED); ~.writestr('$', '1' * 500); ~_packed = gzip.open('~.gz', 'wb')",
        ("~.writestr(f'{len(~.namelist())}.txt', '$' * #); print(len(~.namelist()))", "~_packed.write(b'$' * 99); print(~_packed.tell())", "print(~.infolist()[0].file_size, ~.testzip() if ~.mode == 'r' else None)"),
    ),
    "csv": Kind(
        "import csv",
        "with open('~.csv', 'w', newline='') as ~: csv.writer(~).writerows([(n, n * #, '$') for n in range(40)])\n~ = open('~.csv', newline=''); ~_rows = csv.DictReader(~, ['a', 'b', 'c']); print(next(~_rows))",
        ("print(next(~_rows, None))", "print(~_rows.line_num)", "print(sum(int(row['b']) for row, _ in zip(~_rows, range(3))))"),
    ),
    "chance": Kind(
        "import random",
        "~ = random.Random(#); ~_list = list(range(9)); ~.shuffle(~_list)",
        ("print(~.random(), ~_list)", "print(~.gauss(0, 1))", "print(~.choices(~_list, k=3), ~.getrandbits(70))"),
    ),
    "seeded": Kind(
        "import random", "random.seed(#)", ("random.seed(#); print(random.random())", "random.seed(#); print(random.sample(range(99), 3))"),
    ),
    "context": Kind(
        "import contextvars, decimal",
        "~ = contextvars.ContextVar('~', default=0); ~_token = ~.set(#); ~_copy = contextvars.copy_context(); ~_context = decimal.Context(prec=#)",
        ("print(~.get(), ~_copy.run(~.get))", "~.set(~.get() + #); print(~.get())", "print(~_context.divide(decimal.Decimal(1), decimal.Decimal(7)))", "print(~_copy.run(~.set, #).var is ~, ~_copy[~])"),
    ),
    "errors": Kind(
        "import traceback",
        "~ = []\ndef ~_fail(n):\n    try: return 1 // (n - n)\n    except ZeroDivisionError as error: ~.append(error); raise ValueError('$') from error",
        ("try: ~_fail(#)\nexcept ValueError as ~_last: ~.append(~_last); print(len(~))", "print([str(one.__cause__ or one) for one in ~][-2:])", "print([len(traceback.extract_tb(one.__traceback__)) for one in ~][-2:])"),
    ),
    "exits": Kind(
        "import contextlib",
        "~ = contextlib.ExitStack(); ~_log = []; ~.callback(~_log.append, '$')",
        ("~.callback(~_log.append, #); print(~_log)", "~_two = ~.pop_all(); ~_two.close(); print(~_log)"),
    ),
    "matches": Kind(
        "import re", "~ = re.finditer('[a-m]', '$' * 40)", ("print(next(~, None) is None)", "print([one.span() for one, _ in zip(~, range(3))])"),
    ),
    "containers": Kind(
        "import collections, heapq",
        "~ = collections.deque(range(#), 5); ~_heap = []; ~_count = collections.Counter('$'); ~_default = collections.defaultdict(list); ~_order = collections.OrderedDict(a=#)",
        ("~.append(#); ~.rotate(1); print(~)", "heapq.heappush(~_heap, (#, len(~_heap))); print(~_heap)", "~_default['$'].append(#); ~_count.update('$'); print(dict(~_default), ~_count.most_common(2))", "~_order['$'] = #; ~_order.move_to_end('a'); print(list(~_order))"),
    ),
    "sets": Kind(
        "", "~ = {'$', 'b', #}; ~_frozen = {frozenset(~): '$'}", ("~.add('$'); print(len(~))", "~.discard('$'); print(sorted(map(str, ~)))", "print(~_frozen.get(frozenset(~)))"),
    ),
    "classes": Kind(
        "import abc, dataclasses, enum, typing",
        "@dataclasses.dataclass(order=True)\nclass ~_Point:\n    x: int\n    y: int = #\nclass ~_Colour(enum.Enum):\n    RED = #\nclass ~_Meta(type):\n    def __call__(cls, *given): return super().__call__(*given)\nclass ~_Made(metaclass=~_Meta):\n    __slots__ = ('n',)\n    def __init__(self, n): self.n = n\n~ = [~_Point(#), ~_Made(#)]",
        ("print(~[0], ~[0] < ~_Point(#, #))", "~[1].n += #; print(~[1].n, ~_Colour.RED in ~_Colour)", "~_Made.more = property(lambda self: self.n * #); print(~[1].more)"),
    ),
    "modules": Kind(
        "import sys, types",
        "~ = types.ModuleType('~_own'); sys.modules['~_own'] = ~; exec('x = #\\ndef f(): return x', ~.__dict__)",
        ("import ~_own; print(~_own.f())", "~.x += #; print(sys.modules['~_own'].f())"),
    ),
    "written module": Kind(
        "import importlib, sys",
        "sys.path.insert(0, '.') if '.' not in sys.path else None\nopen('~_file.py', 'w').write('x = #\\n'); importlib.invalidate_caches()",
        ("import ~_file; ~_file.x += #; print(~_file.x)", "print('~_file' in sys.modules)"),
    ),
    "processes": Kind(
        "import os", "os.environ['~'] = '$'; os.makedirs('~_dir', exist_ok=True)",
        ("print(os.environ['~'], os.path.isdir('~_dir'))", "~_here = os.getcwd(); os.chdir('~_dir'); print(os.path.basename(os.getcwd())); os.chdir(~_here)", "print(os.umask(0o22) >= 0)"),
    ),
    "large": Kind(
        "", "~ = bytearray(#00_000); ~[-1] = 7", ("~[#] = #; print(len(~), sum(~))", "~ = bytes(~)[: len(~) // 2] + bytes(#); ~ = bytearray(~); print(len(~))", "~_view = memoryview(bytearray(b'$')); print(bytes(~_view))"),
    ),
    "clock": Kind(
        "import time", "~ = time.monotonic(), time.time()", ("print(time.monotonic() >= ~[0], time.time() >= ~[1] - 5)", "~ = time.monotonic(), time.time(); print(~[0] > 0)"),
    ),
    "pickles": Kind(
        "import copy, json, pickle, marshal",
        "~ = {'$': [#, (1, '$')], 'self': None}; ~['self'] = ~",
        ("~ = pickle.loads(pickle.dumps(~)); print(~['self'] is ~)", "~ = copy.deepcopy(~); ~['n'] = #; print(sorted(~))", "print(marshal.loads(marshal.dumps([#, '$'])), json.dumps(sorted(~)))"),
    ),
    "trees": Kind(
        "import xml.etree.ElementTree as elements",
        "~ = elements.XMLPullParser(); ~.feed('<a><b n=\"#\"/>')",
        ("~.feed('<b n=\"#\"/>'); print([one.attrib for _, one in ~.read_events()])", "~.feed('<$/>'); print(len(list(~.read_events())))"),
    ),
    "logs": Kind(
        "import logging",
        "~ = logging.getLogger('~'); ~.propagate = False; ~_handler = logging.FileHandler('~.log'); ~.addHandler(~_handler)",
        ("~.warning('$ %d', #); print(~_handler.stream.tell())", "~.setLevel(logging.ERROR); ~.warning('no'); print(open('~.log').read()[-20:])", "~.setLevel(logging.INFO); print(~.isEnabledFor(20))"),
    ),
    "arrays": Kind(
        "import numpy as np",
        "~ = np.random.default_rng(#); ~_grid = np.arange(12.).reshape(3, 4); ~_view = ~_grid[1:]",
        ("print(float(~.normal()), ~.integers(9, size=3).tolist())", "~_view[:] += #; print(~_grid.sum())", "np.random.seed(#); print(np.random.rand(2).tolist())", "print((~_grid @ ~_grid.T).trace(), ~_view.base is ~_grid)"),
        is_native=False,
    ),
    "frames": Kind(
        "import pandas as pd",
        "~ = pd.DataFrame({'a': range(50), 'b': list('xy') * 25}); ~_pieces = iter(~.groupby('b'))",
        ("print(next(~_pieces, (None,))[0])", "~['c'] = ~.a.rolling(3).mean() * #; print(~.c.sum())", "~.loc[len(~)] = ~.iloc[0]; print(~.shape, ~.groupby('b').a.sum().to_dict())", "print(~.dtypes.astype(str).to_dict(), ~.attrs)", "~.attrs['$'] = #; print(~.attrs)"),
        is_native=False,
    ),
}
"""Kinds of state, most of those that the design of sessions lists."""

WORDS = ("ab", "lamp", "x", "seven", "mna")


def program(seed):
    """The program of a seed, and whether native Python has all that it needs."""
    chance = random.Random(seed)
    names = chance.sample(sorted(KINDS), chance.randint(2, 6))
    waiting = {f"v{number}": KINDS[name] for number, name in enumerate(names)}
    begun, cells = [], []
    for _ in range(chance.randint(3, 9)):
        lines = []
        for _ in range(chance.randint(1, 3)):
            if waiting and (not begun or chance.random() < 0.5):
                name = chance.choice(sorted(waiting))
                kind = waiting.pop(name)
                begun.append((name, kind))
                lines += [kind.imports, written(kind.begin, name, chance)]
            else:
                name, kind = chance.choice(begun)
                lines.append(guarded(written(chance.choice(kind.steps), name, chance)))
        cells.append("\n".join(line for line in lines if line) + "\n")
    is_native = all(kind.is_native for _, kind in begun)
    return Program(f"generated {seed}", cells, goes_on=True), is_native


def written(code, name, chance):
    """The code of a kind with a name, numbers and words in the places for them."""
    places = {"~": lambda: name, "#": lambda: str(chance.randint(1, 9)), "$": lambda: chance.choice(WORDS)}
    return "".join(places[letter]() if letter in places else letter for letter in code)


def guarded(step):
    """A step whose failure is told, so that what follows it is executed too."""
    indented = "\n".join(f"    {line}" for line in step.split("\n"))
    return f"try:\n{indented}\nexcept Exception as fault: print(type(fault).__name__)"


NATIVELY = r"""
import contextlib, io, json, sys
names, told = {"__name__": "__main__"}, []
for cell in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(cell, "<cell>", "exec"), names)
        except Exception as fault:
            print("FAILED", type(fault).__name__)
    told.append(out.getvalue())
json.dump(told, sys.__stdout__)
sys.__stdout__.flush()
__import__("os")._exit(0)
"""


def natively(cells):
    """What the Python that runs this prints in each cell."""
    with tempfile.TemporaryDirectory(prefix="generated-") as folder:
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", NATIVELY], input=json.dumps(cells),
            cwd=folder, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
    return json.loads(ended.stdout)
