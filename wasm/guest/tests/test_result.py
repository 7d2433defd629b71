"""What becomes of returned values."""

from __future__ import annotations

import json
import sys
import types
import unittest

from _wardian.result import returned, to_json
from tests.support import Sandbox


class FakeNumpy:
    """Stands for numpy where it is not installed: scalars with `dtype` and `item`."""

    def __enter__(self):
        self.before = sys.modules.get("numpy")
        module = types.ModuleType("numpy")

        class generic:
            dtype = "int64"

            def __init__(self, value):
                self.value = value

            def item(self):
                return self.value

        module.generic = generic
        sys.modules["numpy"] = module
        from _wardian import result

        result._numpy_scalar = None
        return generic

    def __exit__(self, *_):
        from _wardian import result

        result._numpy_scalar = None
        if self.before is None:
            del sys.modules["numpy"]
        else:
            sys.modules["numpy"] = self.before


class Encoding(unittest.TestCase):
    def encoded(self, value):
        frame = returned(value)
        self.assertEqual(frame[:1], b"\x02")
        return json.loads(frame[1:])

    def test_plain_values_arrive_as_they_are(self):
        for value in [
            None,
            True,
            0,
            -5,
            2**80,
            1.5,
            "",
            "é €",
            [],
            {},
            [1, [2, {"a": None}]],
            {"a": {"b": [1.25, "x"]}},
        ]:
            with self.subTest(value):
                self.assertEqual(self.encoded(value), value)

    def test_tuples_and_subclasses_arrive_as_their_plain_kind(self):
        import collections
        import enum

        class Level(enum.IntEnum):
            LOW = 1

        class Text(str):
            pass

        Point = collections.namedtuple("Point", "x y")
        value = [Point(1, 2), collections.OrderedDict(a=1), Level.LOW, Text("t")]
        self.assertEqual(self.encoded(value), [[1, 2], {"a": 1}, 1, "t"])

    def test_keys_become_text_as_json_has_it(self):
        self.assertEqual(
            self.encoded({1: "a", 1.5: "b", False: "c", None: "d"}),
            {"1": "a", "1.5": "b", "false": "c", "null": "d"},
        )

    def test_text_is_valid_utf8_whatever_the_program_made_of_it(self):
        self.assertEqual(self.encoded("\ud83d\ude00"), "\U0001f600")
        self.assertEqual(self.encoded({"a\ud800": "\udfff!"}), {"a\ufffd": "\ufffd!"})

    def test_scalars_of_numpy_become_numbers_also_as_keys(self):
        with FakeNumpy() as generic:
            self.assertEqual(self.encoded({"a": [generic(3), generic(2.5)]}), {"a": [3, 2.5]})
            self.assertEqual(self.encoded({generic(7): generic(True)}), {"7": True})
            with self.assertRaisesRegex(TypeError, r"output\[0\] is NaN"):
                returned([generic(float("nan"))])
            with self.assertRaisesRegex(TypeError, r"output is a.*generic, which"):
                returned(generic(object()))

    def test_an_object_that_looks_like_a_scalar_is_not_asked(self):
        class Liar:
            dtype = "int64"

            def item(self):
                raise AssertionError("it was asked")

        with FakeNumpy(), self.assertRaisesRegex(TypeError, "Liar, which JSON cannot hold"):
            returned(Liar())


class Refusals(unittest.TestCase):
    def refused(self, value):
        with self.assertRaises(TypeError) as caught:
            returned(value)
        return str(caught.exception)

    def test_the_place_is_named(self):
        for value, place in [
            ({1}, "output is"),
            ({"rows": [1, 2, 3, (i for i in ())]}, 'output["rows"][3] is a generator'),
            ({"a": {"b c": ({1},)}}, 'output["a"]["b c"][0] is a set'),
            ({3: b""}, "output[3] is a bytes"),
            ({None: {2.5: b""}}, "output[None][2.5] is a bytes"),
            ([{("x", 1): 2}], "output[0] has a key that is a tuple; keys must be strings"),
        ]:
            with self.subTest(value):
                self.assertIn(place, self.refused(value))

    def test_each_kind_has_its_remedy(self):
        import collections
        import dataclasses
        import datetime
        import decimal
        import enum
        import pathlib
        import uuid

        @dataclasses.dataclass
        class Point:
            x: int

        class Color(enum.Enum):
            RED = 1

        async def later():
            pass

        coroutine = later()
        self.addCleanup(coroutine.close)
        for value, remedy in [
            ((i for i in ()), "use list(...)"),
            (map(str, ()), "use list(...)"),
            (range(3), "use list(...)"),
            ({}.keys(), "use list(...)"),
            ({1, 2}, "use sorted(...) or list(...)"),
            (b"", "runtime.blobs.write_bytes"),
            (1j, "return its .real and .imag"),
            (len, "call it"),
            (lambda: 1, "call it"),
            (coroutine, "await it"),
            (collections.deque(), "use list(...)"),
            (datetime.datetime(2024, 1, 1), "use .isoformat()"),
            (datetime.date(2024, 1, 1), "use .isoformat()"),
            (datetime.timedelta(1), "use .total_seconds()"),
            (decimal.Decimal(1), "use str(...) or float(...)"),
            (uuid.UUID(int=1), "use str(...)"),
            (pathlib.Path("x"), "use str(...)"),
            (ValueError(), "use str(...)"),
            (Point(1), "use dataclasses.asdict(...)"),
            (Color.RED, "use its .value"),
            (Point, "return an instance"),
            (object(), "return a dict, list, str"),
            (float("nan"), "use None instead"),
            (float("inf"), "use None instead"),
            (float("-inf"), "output is -Infinity"),
        ]:
            with self.subTest(value):
                self.assertIn(
                    remedy, self.refused({"v": value}) if remedy[0] != "o" else self.refused(value)
                )

    def test_circles_are_named(self):
        row = {"name": "x"}
        row["parent"] = [row]
        self.assertEqual(
            self.refused({"rows": [row]}),
            'output["rows"][0]["parent"][0] contains itself, which JSON cannot express',
        )

    def test_the_same_part_twice_is_no_circle(self):
        part = [1]
        self.assertEqual(json.loads(to_json({"a": part, "b": part}, "v")), {"a": [1], "b": [1]})

    def test_bottomless_nesting_is_refused_in_short(self):
        deep = value = []
        for _ in range(200_000):
            deep.append([])
            deep = deep[0]
        message = self.refused(value)
        self.assertLess(len(message), 400)
        self.assertTrue(message.endswith("is nested more than 200 levels deep"), message)

    def test_endless_numbers_are_refused(self):
        self.assertIn("too many digits", self.refused({"n": 10**5000}))

    def test_hostile_classes_are_not_asked(self):
        class Meta(type):
            def __getattribute__(cls, name):
                raise AssertionError("the metaclass was asked")

        class Hostile(dict, metaclass=Meta):
            def __iter__(self):
                raise AssertionError("it was asked")

            __repr__ = __str__ = __len__ = keys = __iter__

            def items(self):
                raise TypeError("it was asked for items")

        hostile = Hostile()
        dict.__setitem__(hostile, "a", {1})
        self.assertIn('output["a"] is a set', self.refused(hostile))


class InPrograms(Sandbox):
    def test_a_value_that_cannot_be_encoded_fails_the_run(self):
        failure = self.fails("def main(args):\n    return {'rows': map}")
        self.assertEqual(
            failure,
            {
                "type": "TypeError",
                "message": 'output["rows"] is the class map, which JSON cannot hold; '
                "return an instance or its name",
                "traceback": None,
            },
        )

    def test_replacing_json_changes_nothing(self):
        source = (
            "import builtins, json, json.encoder\n"
            "def main(args):\n"
            "    json.dumps = json.loads = json.encoder.c_make_encoder = None\n"
            "    json.encoder.encode_basestring = None\n"
            "    return {'fine': True}\n"
        )
        import json.encoder as encoder

        for module, name in [
            (json, "dumps"),
            (json, "loads"),
            (encoder, "c_make_encoder"),
            (encoder, "encode_basestring"),
        ]:
            self.addCleanup(setattr, module, name, getattr(module, name))
        runner_loads = json.loads
        self.answer_loads = runner_loads
        program = {"code": {"source": source, "file_name": "main.py"}}
        frames = []
        original = self.answer

        def answer(frame):
            if frame[0] in (2, 3):
                frames.append(frame)
                self.ends.append(("returned", None))
                return b"\0"
            return original(frame)

        self.answer = answer
        self.run_job(program)
        self.assertEqual(frames, [b'\x02{"fine":true}'])
