"""Data models, of the batteries: pydantic with its common kinds of fields, and schemas of JSON."""

import datetime
import decimal
import enum
import typing
import uuid

import jsonschema
import orjson
import pydantic
import pydantic.alias_generators
import pydantic.dataclasses
import pydantic.functional_serializers
import pydantic.functional_validators
import pydantic.json_schema
import pydantic.networks
import pydantic.plugin._loader
import pydantic.types
import referencing
import referencing.jsonschema


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


def use_jsonschema():
    """Checks values by a schema with references, and what is wrong with them, in each draft."""
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "pattern": "^[a-z]", "format": "email"},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}, "uniqueItems": True},
            "kind": {"enum": ["a", "b"]},
            "size": {"anyOf": [{"type": "number", "minimum": 0}, {"const": None}]},
        },
        "additionalProperties": False,
        "$defs": {"part": {"type": "integer"}},
    }
    value = {"name": "a@b", "parts": [1], "kind": "a", "size": None}
    for validator in (
        jsonschema.Draft202012Validator,
        jsonschema.Draft201909Validator,
        jsonschema.Draft7Validator,
        jsonschema.Draft6Validator,
        jsonschema.Draft4Validator,
        jsonschema.Draft3Validator,
    ):
        validator.check_schema({"type": "object"})
    jsonschema.validate(value, schema, format_checker=jsonschema.FormatChecker())
    checked = jsonschema.Draft202012Validator(schema)
    wrong = {"name": "", "parts": ["x"], "more": 1, "size": "?"}
    jsonschema.exceptions.best_match(checked.iter_errors(wrong)), checked.is_valid(value)
    try:
        jsonschema.validate(wrong, schema)
    except jsonschema.ValidationError as error:
        str(error), error.json_path
    other = referencing.Resource.from_contents(schema, referencing.jsonschema.DRAFT202012)
    registry = referencing.Registry().with_resource("urn:other", other)
    jsonschema.Draft202012Validator({"$ref": "urn:other"}, registry=registry).is_valid(value)


def use_orjson():
    """Writes and reads a few values."""
    value = {"a": [1, 2.5, None, True, "ä"], "at": datetime.datetime(2024, 2, 29), "u": uuid.UUID(int=1)}
    orjson.loads(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    try:
        orjson.loads("{")
    except orjson.JSONDecodeError as error:
        str(error)


use_pydantic()
use_jsonschema()
use_orjson()
