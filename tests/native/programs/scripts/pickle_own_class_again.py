# script
import copy
import pickle
from collections import namedtuple
from dataclasses import dataclass

P = namedtuple("P", "x y")


@dataclass
class C:
    a: int
    b: list


c = C(1, [P(1, 2)])
d = pickle.loads(pickle.dumps(c))
print(d == c, d is c, copy.deepcopy(c).b[0].x, type(d).__module__)
try:
    pickle.dumps(lambda: 1)
except Exception as e:
    print(type(e).__name__)
