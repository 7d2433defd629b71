# script
import pprint
import reprlib
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from enum import Enum, Flag, IntEnum, auto
from types import SimpleNamespace


class Color(Enum):
    RED = 1
    BLUE = "b"


class Perm(Flag):
    R = auto()
    W = auto()


@dataclass(order=True)
class Item:
    name: str
    tags: list = field(default_factory=list)
    price: float = 1.0


P = namedtuple("P", "x y")
data = {"numbers": list(range(30)), "nested": {"deep": {"er": [P(1, 2.0), Item("a"), {3, 1, 2}]}}, "text": "lorem ipsum " * 12, "none": None}
pprint.pprint(data, width=60, compact=True)
pprint.pprint(defaultdict(list, a=[1]))
print(Color.RED, repr(Color.BLUE), Perm.R | Perm.W, Color("b").name, [c.value for c in Color])
print(Item("b") > Item("a"), Item("a", [1]), SimpleNamespace(a=1), OrderedDict(a=1), Counter("banana"), deque([1, 2], 5))
print(reprlib.repr(list(range(100))), reprlib.repr("x" * 100))
print(b"by\xff\n", bytearray(b"a"), memoryview(b"ab")[0], range(3), slice(1, 2), 1j * 2, ..., NotImplemented)
print({1.0: "a", "b": {2, 3}}, frozenset([1]), (1,), [[]], type(1), len, print.__name__)
print(str(Exception("a", 1)), repr(ValueError("x")), KeyError("k"), OSError(2, "No such file", "f.txt"))
