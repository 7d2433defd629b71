# script
from typing import Annotated, Literal, NewType, Optional, Protocol, TypedDict, Union, get_args, get_type_hints, runtime_checkable
from enum import StrEnum
import abc


@runtime_checkable
class HasLen(Protocol):
    def __len__(self): ...


class Movie(TypedDict, total=False):
    title: str


class Level(StrEnum):
    LOW = "low"


type Pair[T] = tuple[T, T]


def first[T](xs: list[T]) -> T:
    return xs[0]


print(isinstance([], HasLen), Movie(title="x"), Level.LOW == "low", f"{Level.LOW}", get_args(Literal["a", "b"]))
print(first([1]), Pair.__name__, get_type_hints(first)["xs"], int | None == Optional[int])
UserId = NewType("UserId", int)
print(UserId(5), list[int], dict[str, int].__args__)
match 5:
    case int(x) if x > 3:
        print("big", x)
print(f"{'nested'!r:>10} {3.14159:.{2}f} {(lambda x: x * 2)(4)} {5=}")
print((y := 10) + y, [*range(2), *"ab"], {**{"a": 1}, "b": 2})
