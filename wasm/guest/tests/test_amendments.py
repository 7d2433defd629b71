"""Library modules that are mended when they are loaded, and words about sizes."""

from __future__ import annotations

import importlib
import pathlib
import sys
import tempfile
import types
import unittest

from _wardian import amendments, import_hooks, pillow, sizes


class Amendments(unittest.TestCase):
    def load(self, amend):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "amended_sample.py").write_text("value = 1\ndef get(): return value\n")
        finder = import_hooks.HookFinder()
        finder.change({"amended_sample": amend})
        sys.path.insert(0, str(folder))
        self.addCleanup(sys.path.remove, str(folder))
        sys.meta_path.insert(0, finder)
        self.addCleanup(sys.meta_path.remove, finder)
        self.addCleanup(sys.modules.pop, "amended_sample", None)
        importlib.invalidate_caches()
        return importlib.import_module("amended_sample")

    def test_module_is_amended_after_it_was_loaded_and_keeps_its_loader(self):
        module = self.load(lambda module: setattr(module, "value", module.value + 1))
        self.assertEqual(module.get(), 2)
        self.assertEqual(type(module.__loader__).__name__, "SourceFileLoader")
        self.assertIs(module.__spec__.loader, module.__loader__)

    def test_amendment_that_no_longer_fits_fails_the_import(self):
        with self.assertRaises(AttributeError):
            self.load(lambda module: module.missing)
        self.assertNotIn("amended_sample", sys.modules)

    def test_other_modules_are_left_to_others(self):
        self.assertIsNone(import_hooks.HookFinder().find_spec("json"))

    def test_loaded_modules_are_changed_at_once(self):
        module = types.ModuleType("hooked_sample")
        sys.modules["hooked_sample"] = module
        self.addCleanup(sys.modules.pop, "hooked_sample")
        finder = import_hooks.HookFinder()
        finder.change({"hooked_sample": lambda module: setattr(module, "value", 1)})
        self.assertEqual(module.value, 1)

    def test_provided_modules_need_no_file(self):
        finder = import_hooks.HookFinder()
        finder.provide({"provided_sample": lambda namespace: namespace.update(value=1)})
        sys.meta_path.insert(0, finder)
        self.addCleanup(sys.meta_path.remove, finder)
        self.addCleanup(sys.modules.pop, "provided_sample", None)
        module = importlib.import_module("provided_sample")
        self.assertEqual((module.value, module.__spec__.origin), (1, "<wardian>"))

    def test_a_module_has_one_hook(self):
        finder = import_hooks.HookFinder()
        finder.change({"hooked_once": print})
        with self.assertRaisesRegex(ValueError, "hooked_once"):
            finder.provide({"hooked_once": print})


class Advice(unittest.TestCase):
    def test_missing_optional_package_names_what_works(self):
        def missing(name):
            try:
                raise ModuleNotFoundError(f"No module named '{name}': use sqlite3")
            except ImportError as error:
                raise ImportError(f"Import {name} failed.") from error

        module = types.SimpleNamespace(import_optional_dependency=missing)
        amendments._optional_packages(module)
        with self.assertRaisesRegex(ImportError, "Import tables failed. .*use sqlite3"):
            module.import_optional_dependency("tables")

    def test_missing_codec_of_pillow_names_what_works(self):
        def missing(mode, name, *args):
            raise OSError(f"encoder {name} not available")

        image = types.SimpleNamespace(_getencoder=missing, _getdecoder=missing)
        pillow.advise(image)
        with self.assertRaisesRegex(OSError, "libtiff not available; .*PNG"):
            image._getencoder("RGB", "libtiff", ())
        with self.assertRaisesRegex(OSError, "^encoder other not available$"):
            image._getdecoder("RGB", "other", ())


class Struct(unittest.TestCase):
    def test_native_longs_have_eight_bytes(self):
        for given, wanted in [
            ("l", "q"), ("@3lL", "@3qQ"), (b"l", "q"), ("<l", "<l"), ("=L", "=L"), (">l", ">l"),
            ("i", "i"), ("!l", "!l"),
        ]:  # fmt: skip
            self.assertEqual(amendments._wide_format(given), wanted)

    def test_amended_module_packs_as_linux_does(self):
        import struct
        import types

        module = types.ModuleType("struct")
        vars(module).update({name: getattr(struct, name) for name in struct.__all__})
        amendments._struct(module)
        self.assertEqual(module.calcsize("il"), struct.calcsize("iq"))
        self.assertEqual(module.pack("l", 2**40), struct.pack("q", 2**40))
        self.assertEqual(module.unpack("L", struct.pack("Q", 2**40)), (2**40,))
        packer = module.Struct("2l")
        self.assertEqual((packer.size, packer.pack(1, 2)), (16, struct.pack("qq", 1, 2)))


class Sizes(unittest.TestCase):
    def test_messages_about_sizes_name_the_cause(self):
        for kind, message in [
            (ValueError, "Maximum allowed dimension exceeded"),
            (OverflowError, "cannot fit 'int' into an index-sized integer"),
            (MemoryError, "Unable to allocate 3 GiB for an array"),
        ]:
            self.assertIn("32-bit addresses", sizes.explained(kind, message))

    def test_other_messages_stay_as_they_are(self):
        self.assertEqual(sizes.explained(KeyError, "array is too big"), "array is too big")
        self.assertEqual(sizes.explained(ValueError, "bad"), "bad")
