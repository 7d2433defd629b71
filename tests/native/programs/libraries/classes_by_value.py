"""Classes and functions of a program that are pickled by value, as libraries for parallel work send them."""

import _thread
import dataclasses
import enum
import functools
import pickle
import reprlib
import sys
import threading
import typing

import cloudpickle


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: int = 2
    tags: list = dataclasses.field(default_factory=list, compare=False)

    @functools.cached_property
    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    name: str


class Colour(enum.Enum):
    RED = 1


class Pair(typing.NamedTuple):
    left: int
    right: str


class Tree:
    def __init__(self, *children):
        self.children = children

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"Tree{self.children!r}"


def counter(start):
    count = start

    def step(by=1):
        nonlocal count
        count += by
        return count

    return step


def copied(value):
    return pickle.loads(cloudpickle.dumps(value))


def main(args):
    step = counter(5)
    step()
    again = copied(step)
    tree = copied(Tree)(1, 2)
    tree.children = (tree, 3)
    same = [
        copied(function) is function
        for function in (_thread.get_ident, threading.get_ident, reprlib.get_ident, _thread.allocate_lock)
    ]
    strange = sorted(
        f"{module.__name__}.{name}"
        for module in list(sys.modules.values())
        if not module.__name__.startswith(("_wardian", "threading"))
        for name in ("get_ident", "RLock", "allocate_lock", "start_new_thread")
        if getattr(module, name, getattr(_thread, name)) is not getattr(_thread, name)
    )
    return {
        "points": [repr(copied(Point)(1)), repr(copied(Point(3, 4))), copied(Point(3, 4)).norm],
        "order": copied([Point(2), Point(1)])[1] < copied(Point(2)) or "other classes",
        "frozen": repr(copied(Frozen("a"))),
        "enum": repr(copied(Colour.RED)),
        "pair": repr(copied(Pair(1, "b"))),
        "tree": repr(tree),
        "closure": [again(), again(10), step()],
        "lambda": [copied(lambda x: x * len(Colour))(4)],
        "same": same,
        "strange": strange,
    }
