"""Data models: pydantic, one of the batteries, with its common kinds of fields."""

import datetime
import decimal
import enum
import typing
import uuid

import pydantic
import pydantic.alias_generators
import pydantic.dataclasses
import pydantic.functional_serializers
import pydantic.functional_validators
import pydantic.json_schema
import pydantic.networks
import pydantic.plugin._loader
import pydantic.types


class Colour(enum.Enum):
    """A choice."""

    RED = "red"


class Item(pydantic.BaseModel):
    """A part of an order."""

    model_config = pydantic.ConfigDict(extra="forbid", str_strip_whitespace=True)

    name: str = pydantic.Field(min_length=1, max_length=20, description="its name")
    count: int = pydantic.Field(default=1, gt=0)
    price: decimal.Decimal = decimal.Decimal("1.5")
    colour: Colour | None = None
    tags: list[str] = pydantic.Field(default_factory=list)


class Order(pydantic.BaseModel):
    """A model of models."""

    id: uuid.UUID
    made: datetime.datetime
    site: pydantic.HttpUrl
    items: list[Item]
    by_name: dict[str, Item] = {}
    kind: typing.Literal["a", "b"] = "a"
    size: typing.Annotated[float, pydantic.Field(ge=0)] = 0.0

    @pydantic.field_validator("kind")
    @classmethod
    def check_kind(cls, value):
        """Takes every kind."""
        return value

    @pydantic.model_validator(mode="after")
    def check_order(self):
        """Takes every order."""
        return self

    @pydantic.computed_field
    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.items)

    @pydantic.field_serializer("size")
    def write_size(self, value: float) -> str:
        """Writes a size as text."""
        return str(value)


@pydantic.dataclasses.dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


@pydantic.validate_call
def double(x: int) -> int:
    """Checks what it is called with."""
    return 2 * x


def use_pydantic():
    """Reads, refuses, writes and describes a few values."""
    order = Order.model_validate(
        {
            "id": "12345678123456781234567812345678",
            "made": "2024-02-29T12:00:00Z",
            "site": "https://example.com/x",
            "items": [{"name": " x ", "count": "2", "colour": "red"}],
            "size": 1.5,
        }
    )
    Order.model_validate_json(order.model_dump_json(exclude={"count"}))
    order.model_dump(mode="json"), order.model_copy(deep=True), repr(order)
    Order.model_json_schema()
    for wrong in ({}, {"name": "", "more": 1}):
        try:
            Item.model_validate(wrong)
        except pydantic.ValidationError as error:
            str(error), error.errors(), error.json()
    pydantic.TypeAdapter(list[Point] | int).validate_python([{"x": "1"}])
    pydantic.create_model("Made", x=(int, 1))().x, double("2")
    pydantic.plugin._loader._plugins = None  # a skill may have some


use_pydantic()
