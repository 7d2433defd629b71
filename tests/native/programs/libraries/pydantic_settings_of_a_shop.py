from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Generic, Literal, TypeVar, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    RootModel,
    TypeAdapter,
    ValidationError,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)

T = TypeVar("T")


class Size(str, Enum):
    S = "s"
    L = "l"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(le=9)] = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    size: Size


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: PositiveInt


class Order(BaseModel):
    model_config = ConfigDict(frozen=True, validate_assignment=True)

    placed: datetime
    lines: dict[str, Decimal]
    pet: Union[Cat, Dog] = Field(discriminator="kind")
    delay: timedelta = timedelta(hours=1)

    @field_validator("lines", mode="before")
    @classmethod
    def split(cls, value):
        if isinstance(value, str):
            return dict(part.split("=") for part in value.split(";"))
        return value

    @model_validator(mode="after")
    def not_empty(self):
        if not self.lines:
            raise ValueError("an order has lines")
        return self

    @computed_field
    @property
    def total(self) -> Decimal:
        return sum(self.lines.values(), Decimal())

    @field_serializer("placed")
    def as_day(self, value):
        return value.strftime("%d.%m.%Y")


class Names(RootModel[list[str]]):
    pass


def errors_of(step):
    try:
        step()
    except ValidationError as error:
        return [(list(one["loc"]), one["type"], one["msg"]) for one in error.errors(include_url=False)]


def main(args):
    order = Order(placed="2026-03-04T05:06:07Z", lines="tea=1.10;cup=2.25", pet={"kind": "dog", "size": "l"})
    pages = TypeAdapter(Page[Order])
    page = pages.validate_python({"items": [order], "total": "1"})
    return {
        "order": order.model_dump(mode="json"),
        "text": order.model_dump_json(exclude={"pet"}),
        "page": page.model_dump(mode="json", include={"total": True, "items": {0: {"pet"}}}),
        "copy": str(order.model_copy(update={"delay": timedelta(days=2)}).delay),
        "names": Names.model_validate(["a", "b"]).model_dump(),
        "schema": Order.model_json_schema(mode="serialization"),
        "frozen": errors_of(lambda: setattr(order, "delay", 1)),
        "union": errors_of(lambda: Order(placed=0, lines={"a": 1}, pet={"kind": "fish"})),
        "empty": errors_of(lambda: Order(placed=0, lines={}, pet={"kind": "cat"})),
        "many": errors_of(lambda: Order(placed="x", lines={"a": "y"}, pet={"kind": "cat", "lives": 10}, delay="z")),
        "hash": hash(Cat) == hash(Cat),
        "repr": repr(order),
    }
