import collections as c, itertools as it, functools as ft, operator as op, heapq, bisect, copy, enum, dataclasses as dc, typing as t, types, abc, contextlib, weakref, array, struct, random, time, datetime as dt, calendar, zoneinfo, uuid, hashlib, hmac, secrets, zlib, json, pickle, csv, io, configparser, tomllib, ast, dis, inspect, warnings, traceback, logging, argparse, shlex, fnmatch, glob, os, pathlib, tempfile, shutil, stat, pprint, reprlib, graphlib, numbers, keyword, token, tokenize, symtable, queue, threading, sched, string


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    answers.append(attempt(lambda: c.Counter('abracadabra').most_common(3)))
    answers.append(attempt(lambda: c.Counter(a=3)-c.Counter(a=1)))
    answers.append(attempt(lambda: c.OrderedDict([(1, 2)]).popitem()))
    answers.append(attempt(lambda: c.defaultdict(list)))
    answers.append(attempt(lambda: c.deque([1, 2, 3], 2)))
    answers.append(attempt(lambda: c.ChainMap({'a': 1}, {'b': 2})['b']))
    answers.append(attempt(lambda: c.namedtuple('P', 'x y')(1, 2)._asdict()))
    answers.append(attempt(lambda: c.namedtuple('P', 'x y', defaults=[0])(1)))
    answers.append(attempt(lambda: c.UserDict(a=1)))
    answers.append(attempt(lambda: c.Counter('ab').total()))
    answers.append(attempt(lambda: c.Counter([1, 1]) & c.Counter([1])))
    answers.append(attempt(lambda: c.deque('abc').rotate(1)))
    answers.append(attempt(lambda: list(it.accumulate([1, 2, 3], op.mul))))
    answers.append(attempt(lambda: list(it.batched('abcde', 2))))
    answers.append(attempt(lambda: list(it.chain.from_iterable(['a', 'b']))))
    answers.append(attempt(lambda: list(it.combinations('abc', 2))))
    answers.append(attempt(lambda: list(it.combinations_with_replacement('ab', 2))))
    answers.append(attempt(lambda: list(it.compress('abc', [1, 0, 1]))))
    answers.append(attempt(lambda: list(it.dropwhile(bool, [1, 0, 2]))))
    answers.append(attempt(lambda: list(it.groupby('aab'))[0][0]))
    answers.append(attempt(lambda: list(it.islice(it.count(5, 2), 3))))
    answers.append(attempt(lambda: list(it.pairwise('abc'))))
    answers.append(attempt(lambda: list(it.permutations('ab'))))
    answers.append(attempt(lambda: list(it.product('ab', repeat=2))[:3]))
    answers.append(attempt(lambda: list(it.repeat(1, 2))))
    answers.append(attempt(lambda: list(it.starmap(pow, [(2, 3)]))))
    answers.append(attempt(lambda: list(it.takewhile(bool, [1, 0]))))
    answers.append(attempt(lambda: [list(x) for x in it.tee([1, 2])]))
    answers.append(attempt(lambda: list(it.zip_longest('ab', 'c', fillvalue='-'))))
    answers.append(attempt(lambda: next(it.count(2**63))))
    answers.append(attempt(lambda: list(it.islice(range(10), 2, None, 3))))
    answers.append(attempt(lambda: next(it.cycle('ab'))))
    answers.append(attempt(lambda: list(it.filterfalse(bool, [0, 1]))))
    answers.append(attempt(lambda: ft.reduce(op.add, [1, 2], 10)))
    answers.append(attempt(lambda: ft.partial(pow, 2)(3)))
    answers.append(attempt(lambda: ft.cmp_to_key(lambda a, b: b-a)(1) < ft.cmp_to_key(lambda a, b: b-a)(2)))
    answers.append(attempt(lambda: sorted([1, 3, 2], key=ft.cmp_to_key(lambda a, b: b-a))))
    answers.append(attempt(lambda: op.itemgetter(1, 0)('ab')))
    answers.append(attempt(lambda: op.attrgetter('real')(3)))
    answers.append(attempt(lambda: op.methodcaller('upper')('a')))
    @ft.lru_cache(maxsize=2)
    def fib(n): return n if n < 2 else fib(n-1)+fib(n-2)
    @ft.singledispatch
    def sd(x): return 'o'
    @sd.register
    def _(x: int): return 'i'
    class Color(enum.Enum):
        RED = 1; BLUE = 2
    class Fl(enum.Flag):
        A = enum.auto(); B = enum.auto()
    class SE(enum.StrEnum):
        X = enum.auto()
    @dc.dataclass(order=True, frozen=True)
    class D:
        x: int
        y: list = dc.field(default_factory=list, compare=False)
    class Ab(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
    return answers
