"""What JSON cannot hold, and what it becomes."""

from __future__ import annotations

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import itertools
import json
import pathlib
import re
import sys
import types
import unittest
import uuid
import zoneinfo
from unittest import mock

from _wardian import conversion
from _wardian.conversion import MAX_COMPUTED, MAX_NOTES, returned
from _wardian.place import Unfit
from tests.support import Sandbox


def converted(value):
    """The value as a caller gets it, and the notes of its conversions."""
    frame = returned(value, False)
    if frame[:1] == b"\x02":
        return json.loads(frame[1:]), {"listed": [], "total": 0}
    assert frame[:1] == b"\x0b", frame[:1]
    length = int.from_bytes(frame[1:5], "little")
    return json.loads(frame[5 + length :]), json.loads(frame[5 : 5 + length])


def plain(value):
    return converted(value)[0]


def notes(value):
    """The notes as tuples of path, type and form."""
    return [(n["path"], n["from"], n["to"]) for n in converted(value)[1]["listed"]]


@dataclasses.dataclass
class Point:
    x: int
    when: object = None
    Kind: dataclasses.InitVar[int] = 3


class Color(enum.Enum):
    RED = "r"
    PAIR = (1, 2)


class Values(unittest.TestCase):
    def test_patterns_and_time_zones_are_their_texts(self):
        zone = zoneinfo.ZoneInfo("UTC")
        value = [re.compile("a+"), re.compile(b"b\xff"), {"in": zone}, zone]
        self.assertEqual(plain(value), ["a+", "b\\xff", {"in": "UTC"}, "UTC"])
        self.assertEqual(
            set(notes(value)),
            {
                ("$[0]", "re.Pattern", "text"),
                ("$[2].in", "zoneinfo.ZoneInfo", "text"),
                ("$[3]", "zoneinfo.ZoneInfo", "text"),
            },
        )

    def test_urls_and_secrets_of_pydantic_are_as_in_its_own_json(self):
        class Url:
            def __str__(self):
                return "https://example.com/"

        class Secret:
            def __init__(self, secret):
                self.secret = secret

            def get_secret_value(self):
                return self.secret

            def __str__(self):
                return "**********" if isinstance(self.secret, str) else repr(b"**********")

        secret_bytes = type("SecretBytes", (Secret,), {})
        model = type("Model", (), {"model_dump": lambda self: {"url": Url(), "key": Secret("x")}})
        self.assertRaises(Unfit, returned, model(), False)
        loaded = {
            "pydantic.networks": types.SimpleNamespace(_BaseUrl=type("Base", (), {})),
            "pydantic_core": types.SimpleNamespace(Url=Url),
            "pydantic.types": types.SimpleNamespace(_SecretBase=Secret, SecretBytes=secret_bytes),
        }
        with mock.patch.dict(sys.modules, loaded):
            value = [model(), Secret("x"), secret_bytes(b"x"), secret_bytes(b""), {"at": Url()}]
            stars = "**********"
            self.assertEqual(
                plain(value),
                [
                    {"url": "https://example.com/", "key": stars},
                    stars,
                    stars,
                    "",
                    {"at": "https://example.com/"},
                ],
            )
            self.assertTrue(conversion.shown(Url(), False).endswith(b'"https://example.com/"'))

    def test_every_kind_of_value_becomes_what_everybody_means(self):
        day = datetime.date(2026, 1, 2)
        for value, expected, source, target in [
            (day, "2026-01-02", "datetime.date", "ISO 8601 text"),
            (
                datetime.datetime(2026, 1, 2, 3, tzinfo=datetime.timezone.utc),
                "2026-01-02T03:00:00+00:00",
                "datetime.datetime",
                "ISO 8601 text",
            ),
            (datetime.time(1, 2), "01:02:00", "datetime.time", "ISO 8601 text"),
            (datetime.timedelta(minutes=1.5), 90.0, "datetime.timedelta", "number of seconds"),
            (decimal.Decimal("19.99"), 19.99, "decimal.Decimal", "number"),
            (decimal.Decimal("0.1000000000000000055"), "0.1000000000000000055", None, "text"),
            (decimal.Decimal("12345678901234567890"), "12345678901234567890", None, "text"),
            (decimal.Decimal("1E+400"), "1E+400", None, "text"),
            (decimal.Decimal("NaN"), None, "decimal.Decimal", "null"),
            (decimal.Decimal("sNaN"), None, "decimal.Decimal", "null"),
            (fractions.Fraction(3, 4), 0.75, "fractions.Fraction", "number"),
            (fractions.Fraction(1, 3), "1/3", "fractions.Fraction", "text"),
            (fractions.Fraction(10**400, 3), f"{10**400}/3", "fractions.Fraction", "text"),
            (1 + 2j, {"real": 1.0, "imag": 2.0}, "complex", "object"),
            (complex("nan"), None, "complex", "null"),
            (uuid.UUID(int=5), str(uuid.UUID(int=5)), "uuid.UUID", "text"),
            (pathlib.Path("/a/b"), "/a/b", "pathlib.Path", "text"),
            (pathlib.PureWindowsPath("c:/a"), "c:\\a", "pathlib.Path", "text"),
            (ipaddress.ip_address("::1"), "::1", "ipaddress.IPv6Address", "text"),
            (float("nan"), None, "NaN", "null"),
            (float("inf"), None, "Infinity", "null"),
            (-float("inf"), None, "-Infinity", "null"),
            ({3, 1, 2}, [1, 2, 3], "set", "sorted list"),
            (frozenset("ba"), ["a", "b"], "frozenset", "sorted list"),
            (collections.deque([2, 1]), [2, 1], "collections.deque", "list"),
            (array.array("d", [1.5]), [1.5], "array.array", "list"),
            (range(3), [0, 1, 2], "range", "list"),
            ((i * i for i in range(3)), [0, 1, 4], "generator", "list"),
            (map(str, [1]), ["1"], "map", "list"),
            (zip("ab", [1, 2]), [["a", 1], ["b", 2]], "zip", "list"),
            ({"a": 1}.keys(), ["a"], "dict_keys", "list"),
            ({"a": 1}.items(), [["a", 1]], "dict_items", "list"),
            (itertools.chain([1], [2]), [1, 2], "itertools.chain", "list"),
            (b"abc", "YWJj", "bytes", "base64 text"),
            (bytearray(b"x"), "eA==", "bytearray", "base64 text"),
            (memoryview(b"y"), "eQ==", "memoryview", "base64 text"),
            (Color.RED, "r", None, "its value"),
            (Color.PAIR, [1, 2], None, "its value"),
            (Point(1, 2), {"x": 1, "when": 2}, None, "object"),
            (types.SimpleNamespace(a=1), {"a": 1}, "types.SimpleNamespace", "object"),
            (types.MappingProxyType({"a": 1}), {"a": 1}, "mappingproxy", "object"),
            (collections.UserDict(a=1), {"a": 1}, "collections.UserDict", "object"),
            (collections.UserList([1]), [1], "collections.UserList", "list"),
            (collections.UserString("a"), "a", "collections.UserString", "text"),
            (collections.ChainMap({"a": 1}), {"a": 1}, "collections.ChainMap", "object"),
        ]:
            with self.subTest(value):
                found, said = converted({"v": value})
                self.assertEqual(found, {"v": expected})
                self.assertEqual(said["total"], 1)
                entry = said["listed"][0]
                self.assertEqual((entry["path"], entry["to"], entry["count"]), ("$.v", target, 1))
                if source is not None:
                    self.assertEqual(entry["from"], source)

    def test_what_json_itself_writes_is_not_noted(self):
        class Level(enum.IntEnum):
            LOW = 1

        class Text(str):
            pass

        Pair = collections.namedtuple("Pair", "a b")
        value = [
            (1, 2),
            Pair(1, 2),
            Level.LOW,
            Text("t"),
            {1: 2, None: 3},
            collections.Counter("a"),
        ]
        mixed = [*value, datetime.date(2026, 1, 1)]
        self.assertEqual(plain(mixed)[:-1], plain(value))
        self.assertEqual(converted(value)[1]["total"], 0)
        self.assertEqual(converted(mixed)[1]["total"], 1)

    def test_values_are_converted_at_every_depth(self):
        day = datetime.date(2026, 1, 2)
        value = {"a": [({"b": {day}},)], "p": Point(1, [Color.RED, day])}
        self.assertEqual(
            plain(value),
            {"a": [[{"b": ["2026-01-02"]}]], "p": {"x": 1, "when": ["r", "2026-01-02"]}},
        )

    def test_keys_become_text(self):
        day = datetime.date(2026, 1, 2)
        value = {day: 1, (1, "a"): 2, decimal.Decimal("1.5"): 3, uuid.UUID(int=1): 4, Color.RED: 5}
        self.assertEqual(
            plain(value),
            {"2026-01-02": 1, "(1, 'a')": 2, "1.5": 3, str(uuid.UUID(int=1)): 4, "r": 5},
        )
        self.assertIn(("$", "datetime.date (key)", "ISO 8601 text"), notes(value))
        self.assertEqual(plain({float("nan"): {1}}), {"NaN": [1]})
        with self.assertRaisesRegex(Unfit, 'has the keys "2026-01-02" and a datetime.date, which'):
            returned({"2026-01-02": 1, day: 2}, False)
        with self.assertRaisesRegex(Unfit, "output has a key that is a frozenset"):
            returned({frozenset("a"): 1}, False)

    def test_a_set_has_the_same_order_in_every_run(self):
        mixed = [1, "a", None, (2, 3), datetime.date(2026, 1, 1), frozenset("x")]
        first = plain(set(mixed))
        self.assertEqual(len(first), len(mixed))
        for _ in range(20):
            mixed.append(mixed.pop(0))
            self.assertEqual(plain(set(mixed)), first)
        zone = datetime.timezone.utc
        self.assertEqual(plain({decimal.Decimal(2), decimal.Decimal("NaN")}), [2, None])
        moments = {datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 1, tzinfo=zone)}
        self.assertEqual(len(plain(moments)), 2)

    def test_strict_output_refuses_as_before(self):
        with self.assertRaisesRegex(TypeError, r"is a datetime.date, which.*use \.isoformat"):
            returned({"a": datetime.date(2026, 1, 1)}, True)
        self.assertEqual(returned({"a": (1, 2)}, True), b'\x02{"a":[1,2]}')


class Notes(unittest.TestCase):
    def test_equal_conversions_of_a_list_are_one_note_with_their_number(self):
        rows = [{"when": datetime.date(2026, 1, day), "n": 1} for day in range(1, 10)]
        _, said = converted({"rows": rows})
        expected = {"from": "datetime.date", "to": "ISO 8601 text", "count": 9}
        self.assertEqual(said, {"listed": [{"path": "$.rows[0].when", **expected}], "total": 9})
        _, said = converted({"rows": [1, None, *(row["when"] for row in rows)]})
        self.assertEqual(said, {"listed": [{"path": "$.rows[2]", **expected}], "total": 9})

    def test_the_list_of_notes_is_short_and_has_a_total(self):
        _, said = converted({f"k{n}": {n} for n in range(1000)})
        self.assertEqual((len(said["listed"]), said["total"]), (MAX_NOTES, 1000))
        self.assertLess(len(json.dumps(said)), 4_000)

    def test_texts_of_notes_are_short_whatever_the_keys_are(self):
        long = {("x" * 10**6): {1}, "a b": {2}, 'q"': {3}, "\ud800": {4}, "": {5}, "1": {6}}
        found = notes(long)
        self.assertTrue(all(len(path) <= 300 for path, _, _ in found))
        self.assertEqual([path for path, _, _ in found[1:3]], ['$["a b"]', '$["q\\""]'])
        self.assertEqual([path for path, _, _ in found[4:]], ['$[""]', '$["1"]'])
        self.assertEqual(len(found), 6)


class Refusals(unittest.TestCase):
    def refused(self, value):
        with self.assertRaises(TypeError) as caught:
            returned(value, False)
        self.assertEqual(type(caught.exception).__name__, "TypeError")
        return str(caught.exception)

    def test_what_has_no_meaning_stays_an_error_with_its_place_and_a_hint(self):
        async def later():
            pass

        coroutine = later()
        self.addCleanup(coroutine.close)
        day = datetime.date(2026, 1, 1)
        for value, place, hint in [
            ([day, object()], "output[1] is an object", "return a dict"),
            ({day: {"a b": len}}, 'output["2026-01-01"]["a b"] is a builtin_function', "call it"),
            ([coroutine], "output[0] is a coroutine", "await it"),
            ([Point], "output[0] is the class ", "return an instance"),
            ([ValueError()], "output[0] is a ValueError", "use str(...)"),
            (itertools.groupby("a"), "output is an itertools.groupby", "list(group)"),
        ]:
            with self.subTest(value):
                message = self.refused(value)
                self.assertIn(place, message)
                self.assertIn(hint, message)

    def test_circles_and_bottomless_nesting_are_named(self):
        point = Point(1)
        point.when = {"back": (point,)}
        self.assertEqual(
            self.refused([point]),
            'output[0]["when"]["back"][0] contains itself, which JSON cannot express',
        )
        deque = collections.deque()
        deque.append(deque)
        self.assertIn("contains itself", self.refused(deque))
        deep = value = []
        for _ in range(70):
            deep.append([])
            deep = deep[0]
        deep.append({1})
        self.assertIn("is nested more than 64 levels deep", self.refused(value))
        endless = Color.RED

        class Model:
            model_fields = {}

            def model_dump(self):
                return Model()

        self.assertIn("is nested more than 64 levels deep", self.refused(Model()))
        self.assertEqual(plain([endless]), ["r"])

    def test_endless_iterators_end(self):
        self.assertIn(
            f"output is an itertools.count with more than {MAX_COMPUTED:,} items",
            self.refused(itertools.count()),
        )
        self.assertIn("is a range with more than", self.refused(range(10**18)))

    def test_hostile_subclasses_are_not_asked(self):
        def lie(*args, **options):
            raise AssertionError("it was asked")

        lies = dict.fromkeys(
            ("isoformat", "__str__", "__repr__", "__iter__", "__len__", "__getattribute__"), lie
        )
        day = type("Day", (datetime.date,), lies)(2026, 1, 2)
        moment = type("Moment", (datetime.datetime,), lies)(2026, 1, 2)
        number = type("Number", (decimal.Decimal,), lies)("1.5")
        some = type("Some", (set,), lies)([1])
        text = type("Text", (str,), lies)("t")
        pairs = type("Pairs", (dict,), {**lies, "items": lie, "keys": lie})(a={1})
        self.assertEqual(
            plain([day, moment, number, some, text, pairs]),
            ["2026-01-02", "2026-01-02T00:00:00", 1.5, [1], "t", {"a": [1]}],
        )

    def test_objects_that_pretend_to_be_something_else_are_not_believed(self):
        class Pretender:
            @property
            def __class__(self):
                return dict

        class Liar(type):
            def __hash__(cls):
                raise AssertionError("the metaclass was asked")

            __eq__ = __instancecheck__ = __hash__

        class Odd(metaclass=Liar):
            pass

        self.assertIn("Pretender, which JSON cannot hold", self.refused([Pretender(), {1}]))
        self.assertIn("Odd, which JSON cannot hold", self.refused({"a": Odd()}))

    def test_failures_of_the_programs_own_code_are_told(self):
        class Zone(datetime.tzinfo):
            def utcoffset(self, moment):
                raise ValueError("no zone")

        class Model:
            def model_dump(self):
                raise KeyError("gone")

        @dataclasses.dataclass
        class Half:
            x: int

        half = Half(1)
        del half.x
        self.assertEqual(
            self.refused({"a": datetime.datetime(2026, 1, 1, tzinfo=Zone())}),
            'output["a"] is a datetime.datetime that cannot be converted (ValueError: no zone)',
        )
        self.assertIn("(KeyError: 'gone')", self.refused([Model()]))
        self.assertIn("that cannot be converted (AttributeError", self.refused(half))
        with self.assertRaises(ZeroDivisionError):  # a generator is a part of the program
            returned((1 / n for n in [0]), False)

    def test_many_values_are_converted_in_a_bounded_time(self):
        days = [datetime.date(2026, 1, 1)] * 200_000
        value, said = converted({"days": days})
        self.assertEqual((len(value["days"]), len(said["listed"])), (200_000, 1))
        value, said = converted({n: {n} for n in range(50_000)})
        self.assertEqual((len(value), said["total"]), (50_000, 50_000))


class Blobs(Sandbox):
    def test_bytes_beyond_a_kilobyte_become_a_blob(self):
        picture = "b'\\x89PNG\\r\\n\\x1a\\n' + bytes(2000)"
        value = self.returns(f"def main(args):\n    return [{picture}, bytes(1025), bytes(1024)]\n")
        self.assertEqual(value[:2], ["blob:new1", "blob:new2"])
        kinds = [kind for kind, _ in self.written.values()]
        self.assertEqual(kinds, ["image/png", "application/octet-stream"])
        self.assertEqual(len(value[2]), 1368)
        self.assertEqual(self.converted["total"], 3)

    def test_a_program_that_replaces_modules_changes_its_own_result_at_most(self):
        source = (
            "import base64, datetime, json, math\n"
            "def main(args):\n"
            "    base64.b64encode = json.dumps = math.isfinite = None\n"
            "    return [b'a', datetime.date(2026, 1, 1), float('nan')]\n"
        )
        self.addCleanup(setattr, conversion.base64, "b64encode", conversion.base64.b64encode)
        import math

        self.addCleanup(setattr, math, "isfinite", math.isfinite)
        self.addCleanup(setattr, json, "dumps", json.dumps)
        dumps = json.dumps
        self.answer_dumps = dumps
        end, value = self.run_code(source)
        self.assertIn(end, ("returned", "raised"), value)
