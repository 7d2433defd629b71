import dataclasses
import json
from typing import NamedTuple, TypedDict

import pydantic
from pydantic.dataclasses import dataclass


class Point(NamedTuple):
    x: int
    y: int = 0


class Options(TypedDict, total=False):
    depth: int
    name: str


@dataclass
class Shape:
    points: list[Point]
    options: Options = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        self.count = len(self.points)


@pydantic.validate_call
def repeat(text: str, /, times: pydantic.PositiveInt = 2, *, sep: str = "-") -> str:
    return sep.join([text] * times)


def main(args):
    shape = Shape(points=[("1", 2), {"x": 3}], options={"depth": "4"})
    adapter = pydantic.TypeAdapter(Shape)
    text = adapter.dump_json(shape).decode()
    refused = []
    for call in (
        lambda: repeat("a", 0),
        lambda: repeat("a", "three"),
        lambda: repeat("a", sep=1),
        lambda: Shape(points=[(1, 2, 3)]),
        lambda: Shape(points=[], options={"size": 1, "depth": None}),
    ):
        try:
            call()
            refused.append(None)
        except pydantic.ValidationError as error:
            refused.append([error.title, [[*map(str, one["loc"])] for one in error.errors()]])
    return [
        text,
        adapter.validate_json(text) == shape,
        shape.count,
        repeat("ab", "3", sep="+"),
        refused,
        json.loads(json.dumps(adapter.json_schema(), sort_keys=True)),
    ]
