"""The table of error numbers, compared with the Linux on which the tests run."""

from __future__ import annotations

import errno
import os
import sys
import types
import unittest
import unittest.mock

from _wardian import errors


@unittest.skipUnless(sys.platform == "linux", "the table is that of Linux")
class Table(unittest.TestCase):
    def test_numbers_and_names_are_those_of_linux(self):
        module = types.ModuleType("errno")
        module.errorcode = {44: "ENOENT"}
        module.ENOTCAPABLE = 76
        errors.renumber(module)
        self.assertFalse(hasattr(module, "ENOTCAPABLE"))
        self.assertNotIn(44, {n for n, name in module.errorcode.items() if name == "ENOENT"})
        for name, number in vars(errno).items():
            if name.isupper():
                self.assertEqual(getattr(module, name), number, name)
        for number, name in errno.errorcode.items():
            self.assertEqual(module.errorcode[number], name)

    def test_texts_are_those_of_linux(self):
        for number in [*range(134), -1, 4096]:
            self.assertEqual(errors.strerror(number), os.strerror(number))
        with self.assertRaises(TypeError):
            errors.strerror("2")


class Host(unittest.TestCase):
    def test_numbers_of_the_host_are_translated(self):
        known = {44: (2, "No such file or directory"), 8: (9, "Bad file descriptor")}
        self.enterContext(unittest.mock.patch.object(errors, "_known", known))
        missing = errors.of_host(44, "a.txt")
        self.assertIsInstance(missing, FileNotFoundError)
        self.assertEqual(str(missing), "[Errno 2] No such file or directory: 'a.txt'")
        self.assertEqual(errors.of_host(8).args, (9, "Bad file descriptor"))

    def test_nothing_is_changed_twice(self):
        sys._errnos = {1: (7, "Argument list too long")}
        self.addCleanup(delattr, sys, "_errnos")
        before = dict(vars(errno))
        errors.install()
        self.assertEqual(dict(vars(errno)), before)
