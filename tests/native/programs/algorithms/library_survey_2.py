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
    answers.append(attempt(lambda: heapq.nsmallest(2, [3, 1, 2])))
    answers.append(attempt(lambda: list(heapq.merge([1, 3], [2]))))
    answers.append(attempt(lambda: bisect.bisect([1, 2, 2], 2)))
    answers.append(attempt(lambda: bisect.insort(l := [1, 3], 2) or l))
    answers.append(attempt(lambda: bisect.bisect_left([1, 5], 3, key=lambda x: x)))
    @ft.lru_cache(maxsize=2)
    def fib(n): return n if n < 2 else fib(n-1)+fib(n-2)
    answers.append(attempt(lambda: fib(25)))
    answers.append(attempt(lambda: fib.cache_info()))
    answers.append(attempt(lambda: fib.cache_parameters()))
    @ft.singledispatch
    def sd(x): return 'o'
    @sd.register
    def _(x: int): return 'i'
    answers.append(attempt(lambda: sd(1)))
    answers.append(attempt(lambda: sd('a')))
    answers.append(attempt(lambda: sd.registry.keys() is not None))
    class Color(enum.Enum):
        RED = 1; BLUE = 2
    class Fl(enum.Flag):
        A = enum.auto(); B = enum.auto()
    class SE(enum.StrEnum):
        X = enum.auto()
    answers.append(attempt(lambda: Color.RED))
    answers.append(attempt(lambda: Color(2)))
    answers.append(attempt(lambda: Color['RED'].value))
    answers.append(attempt(lambda: list(Color)))
    answers.append(attempt(lambda: Fl.A | Fl.B))
    answers.append(attempt(lambda: Fl(3)))
    answers.append(attempt(lambda: SE.X))
    answers.append(attempt(lambda: str(SE.X)))
    answers.append(attempt(lambda: repr(Color.RED)))
    answers.append(attempt(lambda: f"{Color.RED}"))
    answers.append(attempt(lambda: Color.__members__))
    answers.append(attempt(lambda: Fl.A in Fl(3)))
    answers.append(attempt(lambda: enum.IntEnum('I', 'a b').b + 1))
    answers.append(attempt(lambda: Color(9)))
    answers.append(attempt(lambda: Color['X']))
    answers.append(attempt(lambda: Color.RED < Color.BLUE))
    @dc.dataclass(order=True, frozen=True)
    class D:
        x: int
        y: list = dc.field(default_factory=list, compare=False)
    answers.append(attempt(lambda: D(1)))
    answers.append(attempt(lambda: D(1) < D(2)))
    answers.append(attempt(lambda: dc.asdict(D(1, [2]))))
    answers.append(attempt(lambda: dc.replace(D(1), x=5)))
    answers.append(attempt(lambda: dc.fields(D)[0].name))
    answers.append(attempt(lambda: hash(D(1)) == hash(D(1))))
    answers.append(attempt(lambda: repr(D(3))))
    answers.append(attempt(lambda: dc.make_dataclass('Q', ['a'])(1)))
    answers.append(attempt(lambda: dc.astuple(D(1))))
    answers.append(attempt(lambda: D.__match_args__))
    answers.append(attempt(lambda: setattr(D(1), 'x', 2)))
    answers.append(attempt(lambda: D()))
    class Ab(abc.ABC):
        @abc.abstractmethod
        def f(self): ...
    return answers
