# script
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, asdict, replace
from functools import total_ordering, singledispatch, partial, reduce
from typing import Protocol, TypedDict, NamedTuple, Generic, TypeVar


class InsufficientFunds(Exception):
    def __init__(self, need, have):
        super().__init__(f"need {need}, have {have}")
        self.need = need


@total_ordering
class Account(ABC):
    count = 0

    def __init__(self, owner, balance=0):
        self.owner, self._balance = owner, balance
        type(self).count += 1

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, v):
        if v < 0:
            raise InsufficientFunds(v, self._balance)
        self._balance = v

    @abstractmethod
    def fee(self): ...

    def __eq__(self, o):
        return self.balance == o.balance

    def __lt__(self, o):
        return self.balance < o.balance

    def __repr__(self):
        return f"{type(self).__name__}({self.owner!r}, {self._balance:,})"


class Savings(Account):
    def fee(self):
        return self.balance // 1000


@singledispatch
def show(x):
    return f"obj {x}"


@show.register
def _(x: int | float):
    return f"num {x}"


@show.register(list)
def _(x):
    return "list " + "/".join(map(show, x))


@dataclass(frozen=True, slots=True)
class Tx:
    amt: int
    tags: tuple = ()


a, b = Savings("Ann", 5_000_000_000), Savings("Bob")
try:
    b.balance -= 5
except InsufficientFunds as e:
    print("refused:", e, e.need)
try:
    Account("x")
except TypeError as e:
    print(e)
print(a, b, a > b, max(a, b), Savings.count, a.fee())
print(show(5), show("s"), show([1, "a", [2.5]]))
t = Tx(5)
try:
    t.amt = 6
except Exception as e:
    print(type(e).__name__, e)
print(t, replace(t, amt=7), asdict(t), hash(t) == hash(Tx(5)))
match {"type": "pay", "items": [1, 2, 3]}:
    case {"type": "pay", "items": [first, *rest]} if rest:
        print("match", first, rest)
print(Savings.__mro__[1].__name__, isinstance(a, Account), callable(a), vars(b))
print(a.nope)
