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
    answers.append(attempt(lambda: struct.pack('<iqd', 1, 2, 3.5)))
    answers.append(attempt(lambda: struct.unpack('>HB', b'\x01\x02\x03')))
    answers.append(attempt(lambda: struct.calcsize('bhilq')))
    answers.append(attempt(lambda: struct.calcsize('@lL')))
    answers.append(attempt(lambda: struct.calcsize('=l')))
    answers.append(attempt(lambda: struct.pack('l', 2**40)))
    answers.append(attempt(lambda: struct.pack('10s', b'a')))
    answers.append(attempt(lambda: struct.pack('p', b'')))
    answers.append(attempt(lambda: struct.pack('e', 1.5)))
    answers.append(attempt(lambda: struct.pack('?', True)))
    answers.append(attempt(lambda: struct.calcsize('ci')))
    answers.append(attempt(lambda: struct.calcsize('cl')))
    answers.append(attempt(lambda: struct.calcsize('lc0l')))
    answers.append(attempt(lambda: struct.unpack_from('i', b'\0'*8, 4)))
    answers.append(attempt(lambda: list(struct.iter_unpack('h', b'\1\0\2\0'))))
    answers.append(attempt(lambda: struct.Struct('l').size))
    answers.append(attempt(lambda: struct.pack('i', 2**31)))
    answers.append(attempt(lambda: struct.pack('B', 256)))
    answers.append(attempt(lambda: struct.pack('b', 200)))
    answers.append(attempt(lambda: struct.pack('H', -1)))
    answers.append(attempt(lambda: struct.pack('q', 2**63)))
    answers.append(attempt(lambda: struct.unpack('i', b'a')))
    answers.append(attempt(lambda: struct.pack('<l', 2**40)))
    answers.append(attempt(lambda: hashlib.md5(b'a').hexdigest()))
    answers.append(attempt(lambda: hashlib.sha256(b'a').hexdigest()))
    answers.append(attempt(lambda: hashlib.sha3_256(b'a').hexdigest()))
    answers.append(attempt(lambda: hashlib.blake2b(b'a', digest_size=8).hexdigest()))
    answers.append(attempt(lambda: hashlib.shake_128(b'a').hexdigest(8)))
    answers.append(attempt(lambda: hmac.new(b'k', b'm', 'sha256').hexdigest()))
    answers.append(attempt(lambda: hashlib.new('sha512', b'a').hexdigest()[:16]))
    answers.append(attempt(lambda: hashlib.sha1(b'').name))
    answers.append(attempt(lambda: hashlib.pbkdf2_hmac('sha256', b'p', b's', 10).hex()))
    answers.append(attempt(lambda: hmac.compare_digest(b'a', b'a')))
    answers.append(attempt(lambda: sorted(hashlib.algorithms_guaranteed)))
    answers.append(attempt(lambda: hashlib.sha224(b'').block_size))
    answers.append(attempt(lambda: hashlib.file_digest(io.BytesIO(b'a'), 'md5').hexdigest()))
    answers.append(attempt(lambda: hashlib.scrypt(b'p', salt=b's', n=4, r=1, p=1, dklen=8).hex()))
    return answers
