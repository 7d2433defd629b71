"""Functions of the standard library that answer as on 64-bit Linux, and maps of files."""

import fcntl  # noqa: F401 - the map looks for it
import importlib.util
import itertools
import os
import pickle
import random
import sys
import tempfile
import time
import unittest
from unittest import mock

from tests import support  # noqa: F401 - makes the guest importable
from _wardian import library, mapping


class Library(unittest.TestCase):
    """What native Python answers was recorded from CPython 3.13 on x86-64."""

    def test_directives_of_glibc(self):
        shown = [time.strftime(f, time.gmtime(0)) for f in ("%k", "%l", "%P", "%^a", "%05d", "%N")]
        self.assertEqual(shown, [" 0", "12", "am", "THU", "00001", "%N"])
        self.assertEqual(time.strftime("%%k %-d|%_d|%e", time.gmtime(0)), "%k 1| 1| 1")

    def test_hashes_of_floats_have_64_bits(self):
        known = {0.5: 1152921504606846976, 3.7: 1614090106449586179, -1.0: -2, 2.0: 2, 0.0: 0}
        for value, hashed in known.items():
            self.assertEqual(library.hash_of_float(value), hashed)
        self.assertEqual(library.hash_of_float(float("-inf")), -314159)

    def test_choices_from_long_ranges(self):
        chosen = random.Random(9)
        self.assertEqual(chosen.sample(range(10**10), 3), [5898329840, 595022250, 4322605648])
        self.assertEqual(random.Random(3.5).random(), 0.3039190124834461)
        self.assertEqual(library.length(range(5, -(10**12), -3)), 333333333335)
        self.assertEqual(list(itertools.islice("abc", 1, 10**12)), ["b", "c"])


class Decimals(unittest.TestCase):
    """The implementation in Python has the bounds of that in C, as recorded from CPython 3.13 on x86-64."""

    def setUp(self):
        spec = importlib.util.find_spec("_pydecimal")
        self.decimal = importlib.util.module_from_spec(spec)
        replaced = mock.patch.dict(sys.modules, _pydecimal=self.decimal, decimal=self.decimal)
        replaced.start()
        self.addCleanup(replaced.stop)
        spec.loader.exec_module(self.decimal)
        library.amend_decimal(self.decimal)

    def test_exact_numbers_beyond_the_bounds_are_refused(self):
        decimal = self.decimal
        beyond = (
            "1E+9999999999999999999",
            "1E-9999999999999999999",
            "1E+1000000000000000000",
            "0E+9999999999999999999",
            "0E+1000000000000000000",
            "10E+999999999999999999",
            "0E-1999999999999999998",
            "1000E-1999999999999999998",
            (0, (1,), 10**18),
            (1, (), -2 * 10**18),
        )
        for value in beyond:
            with self.assertRaises(decimal.InvalidOperation) as raised:
                decimal.Decimal(value)
            self.assertEqual(str(raised.exception), "[<class 'decimal.InvalidOperation'>]")
        for text in (
            "1E+999999999999999999",
            "9.99E+999999999999999999",
            "0E+999999999999999999",
            "1E-1999999999999999997",
            "0E-1999999999999999997",
        ):
            self.assertEqual(str(decimal.Decimal(text)), text)
        with self.assertRaises(OverflowError):
            decimal.Decimal((0, (1,), 1 << 63))

    def test_a_context_without_traps_makes_them_nan(self):
        decimal = self.decimal
        number = type("Number", (decimal.Decimal,), {})
        with decimal.localcontext(decimal.Context(traps=[])) as context:
            made = number("1E+1000000000000000000")
            self.assertEqual((type(made), str(made)), (number, "NaN"))
            self.assertTrue(context.flags[decimal.InvalidOperation])

    def test_contexts_round_numbers_beyond_the_bounds(self):
        context = self.decimal.Context(traps=[])
        for text, rounded in (
            ("1E+9999999999999999999", "Infinity"),
            ("1E-9999999999999999999", "0E-1000026"),
            ("0E+9999999999999999999", "0E+999999"),
        ):
            self.assertEqual(str(context.create_decimal(text)), rounded)
        with self.assertRaises(self.decimal.Overflow):
            self.decimal.Context().create_decimal("1E+9999999999999999999")
        self.assertEqual(str(context.create_decimal(" 1")), "NaN")

    def test_results_at_the_bounds(self):
        decimal = self.decimal
        context = decimal.Context(Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
        large = decimal.Decimal("1E+999999999999999999")
        self.assertEqual(str(context.multiply(large, 10)), "Infinity")
        self.assertEqual(str(context.scaleb(large, 1)), "Infinity")
        self.assertEqual(str(context.scaleb(decimal.Decimal(1), 999999999999999999)), str(large))
        self.assertEqual(str(context.scaleb(large, 10**19)), "NaN")
        self.assertEqual(str(pickle.loads(pickle.dumps(large))), str(large))

    def test_contexts_have_bounds(self):
        decimal = self.decimal
        for name, value, kind, message in (
            ("Emax", 10**18, ValueError, "valid range for Emax is [0, MAX_EMAX]"),
            ("Emin", -(10**18), ValueError, "valid range for Emin is [MIN_EMIN, 0]"),
            ("prec", 0, ValueError, "valid range for prec is [1, MAX_PREC]"),
            ("prec", 1 << 63, OverflowError, "Python int too large to convert to C ssize_t"),
            ("clamp", 2, ValueError, "valid values for clamp are 0 or 1"),
            ("prec", 1.5, TypeError, "an integer is required"),
        ):
            with self.assertRaises(kind) as raised:
                decimal.Context(**{name: value})
            self.assertEqual(str(raised.exception), message)


class Maps(unittest.TestCase):
    """Maps are copies that are written back."""

    def test_changes_reach_the_file(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"0123456789" * 10_000)
            file.flush()
            with mapping.mmap(file.fileno(), 0) as mapped:
                mapped[99_990:] = b"abcdefghij"
                self.assertEqual((mapped.find(b"abc"), mapped[3], len(mapped)), (99_990, 51, 100_000))
                mapped.flush()
                self.assertEqual(os.pread(file.fileno(), 4, 99_990), b"abcd")
                mapped[:2] = b"XY"
            self.assertEqual(os.pread(file.fileno(), 3, 0), b"XY2")

    def test_changes_are_written_whole_although_writes_end_early(self):
        write = os.pwrite
        with tempfile.TemporaryFile() as file:
            file.truncate(100)
            mapped = mapping.mmap(file.fileno(), 0)
            mapped[10:60] = b"x" * 50
            with mock.patch("os.pwrite", lambda fd, data, at: write(fd, data[:7], at)):
                mapped.close()
            self.assertEqual(os.pread(file.fileno(), 100, 0), bytes(10) + b"x" * 50 + bytes(40))

    def test_what_may_not_be_written_is_not(self):
        with tempfile.TemporaryFile() as file:
            self.assertRaises(ValueError, mapping.mmap, file.fileno(), 0)
            file.write(b"abc")
            file.flush()
            mapped = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_READ)
            with self.assertRaises(TypeError):
                mapped[0] = 1
            copied = mapping.mmap(file.fileno(), 0, access=mapping.ACCESS_COPY)
            copied[0] = 90
            copied.close()
            self.assertEqual(os.pread(file.fileno(), 3, 0), b"abc")
            self.assertRaises(ValueError, copied.read)


if __name__ == "__main__":
    unittest.main()
