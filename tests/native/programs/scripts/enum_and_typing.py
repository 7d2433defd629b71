# script
from enum import Enum, auto, Flag
from typing import NamedTuple
class C(Enum):
    A = auto(); B = auto()
class P(NamedTuple):
    x: int
    y: int = 2
print(C.A, C["B"].value, P(1), list(C), P(3)._asdict())
