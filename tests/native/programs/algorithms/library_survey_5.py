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
    answers.append(attempt(lambda: len(secrets.token_hex(4))))
    answers.append(attempt(lambda: secrets.compare_digest('a', 'a')))
    answers.append(attempt(lambda: zlib.crc32(b'a')))
    answers.append(attempt(lambda: zlib.adler32(b'a')))
    answers.append(attempt(lambda: zlib.compress(b'a'*100)))
    answers.append(attempt(lambda: zlib.decompress(zlib.compress(b'x'*1000))[:3]))
    answers.append(attempt(lambda: zlib.compressobj(9).compress(b'')))
    answers.append(attempt(lambda: uuid.uuid5(uuid.NAMESPACE_DNS, 'a')))
    answers.append(attempt(lambda: uuid.uuid3(uuid.NAMESPACE_URL, 'a').int))
    answers.append(attempt(lambda: uuid.UUID('12345678123456781234567812345678').hex))
    answers.append(attempt(lambda: hashlib.new('nope')))
    return answers
