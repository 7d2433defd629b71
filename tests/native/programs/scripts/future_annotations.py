# script
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class N:
    v: int
    next: N | None = None
print(N(1, N(2)))
