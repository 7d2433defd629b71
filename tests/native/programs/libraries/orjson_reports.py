# script
import dataclasses
import datetime
import decimal
import enum
import uuid

import orjson


class Kind(enum.Enum):
    A = "a"
    B = 2


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    placed: datetime.datetime
    kind: Kind
    lines: list[tuple[str, int, float]]
    _hidden: int = 3


def default(value):
    if isinstance(value, decimal.Decimal):
        return str(value)
    raise TypeError


zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
orders = [
    Order(uuid.UUID(int=n), datetime.datetime(2026, 5, n, 4, 5, 6, n, zone), kind, [("x", n, n / 3)])
    for n, kind in ((1, Kind.A), (28, Kind.B))
]
print(orjson.dumps(orders).decode())
print(orjson.dumps(orders, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS).decode())
print(orjson.dumps({3: decimal.Decimal("1.10"), None: [1e16, 1e-7, 0.1, -0.0, 1e22]}, default, orjson.OPT_NON_STR_KEYS))
print(orjson.dumps("\x00\x1f\"\\/\u2028\U0001f600\x7f").decode())
for value in ({1}, 2**63, -(2**63) - 1, "\udcff", {1: 2}, decimal.Decimal(1)):
    try:
        print(orjson.dumps(value, default=default))
    except orjson.JSONEncodeError as error:
        print(type(error).__name__, error)
for text in ("[1,]", "{'a':1}", "[1e999]", "nan", "", "[01]", '"\\ud800"', b"\xff", "[" * 2000, '{"a":1,"a":2}', " [18446744073709551616] "):
    try:
        print(orjson.loads(text))
    except orjson.JSONDecodeError as error:
        print(error, error.pos, error.lineno, error.colno)
orjson.loads(orjson.dumps([[1.5] * 100, {str(n): n for n in range(100)}]))[1]["99"]
