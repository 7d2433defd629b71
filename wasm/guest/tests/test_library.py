"""Functions of the standard library that answer as on 64-bit Linux, and maps of files."""

import fcntl  # noqa: F401 - the map looks for it
import itertools
import os
import random
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
