"""Replacements of native code in the batteries for documents."""

from __future__ import annotations

import io
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings
import zipfile
from pathlib import Path

from _wardian import charts, ciphers, documents, file_types, import_hooks


class Ciphers(unittest.TestCase):
    """The examples of FIPS 197 and of NIST SP 800-38A."""

    PLAIN = bytes.fromhex(
        "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
        "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710"
    )
    VECTOR = bytes(range(16))
    EXAMPLES = (
        (
            "2b7e151628aed2a6abf7158809cf4f3c",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"
            "73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
        ),
        (
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
            "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
        ),
    )

    def test_blocks_are_encrypted_as_in_the_standard(self):
        for key, coded in self.EXAMPLES:
            found = ciphers.encrypt(bytes.fromhex(key), self.VECTOR, self.PLAIN)
            self.assertEqual(found.hex(), coded)

    def test_blocks_are_decrypted_as_in_the_standard(self):
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("this Python has no NumPy; tests/native decrypts in the sandbox")
        for key, coded in self.EXAMPLES:
            found = ciphers.decrypt(bytes.fromhex(key), self.VECTOR, bytes.fromhex(coded) + b"rest")
            self.assertEqual(found, self.PLAIN)

    def test_other_lengths_are_refused(self):
        for key, vector, data in ((bytes(15), bytes(16), b""), (bytes(16), bytes(8), b""), (bytes(16), bytes(16), b"x")):
            with self.assertRaises(ValueError):
                ciphers.encrypt(key, vector, data)


    def test_rc4_is_that_of_its_test_vectors(self):
        # RFC 6229.
        key = bytes.fromhex("0102030405")
        self.assertEqual(ciphers._mixed(key, bytes(16)).hex(), "b2396305f03dc027ccc3524a0a1118a8")
        self.assertEqual(ciphers._mixed(key, b""), b"")


class Provider(unittest.TestCase):
    """What pypdf imports of `cryptography`."""

    def setUp(self) -> None:
        self.names: dict[str, object] = {}
        for fill in ciphers.OF_PYPDF.values():
            fill(self.names)

    def encrypted(self, algorithm, mode, *parts):
        encryptor = self.names["Cipher"](algorithm, mode).encryptor()
        return b"".join([*map(encryptor.update, parts), encryptor.finalize()])

    def test_parts_are_encrypted_as_the_whole(self):
        key, coded = map(bytes.fromhex, Ciphers.EXAMPLES[0])
        mode = self.names["CBC"](Ciphers.VECTOR)
        algorithm = self.names["AES"](key)
        for at in (0, 5, 16, 20, 32):
            parts = Ciphers.PLAIN[:at], Ciphers.PLAIN[at:]
            self.assertEqual(self.encrypted(algorithm, mode, *parts), coded)
        # FIPS 197 and NIST SP 800-38A.
        ecb = self.encrypted(algorithm, self.names["ECB"](), Ciphers.PLAIN[:32])
        self.assertEqual(ecb.hex(), "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf")
        stream = self.encrypted(self.names["ARC4"](bytes.fromhex("0102030405")), None, bytes(7), bytes(9))
        self.assertEqual(stream.hex(), "b2396305f03dc027ccc3524a0a1118a8")

    def test_padding_is_added_and_taken_away(self):
        padding = self.names["PKCS7"](128)
        for size in range(34):
            padder, unpadder = padding.padder(), padding.unpadder()
            padded = padder.update(b"x" * size) + padder.finalize()
            self.assertEqual(len(padded), size // 16 * 16 + 16)
            self.assertEqual(unpadder.update(padded) + unpadder.finalize(), b"x" * size)
        for wrong in (b"", b"x" * 15, b"x" * 15 + b"\0", b"x" * 15 + b"\x11", b"x" * 14 + b"\x01\x02"):
            unpadder = padding.unpadder()
            unpadder.update(wrong)
            with self.assertRaisesRegex(ValueError, "Invalid padding bytes"):
                unpadder.finalize()

    def test_what_openssl_refuses_is_refused(self):
        cipher, aes = self.names["Cipher"], self.names["AES"]
        with self.assertRaisesRegex(ValueError, "not a multiple of the block length"):
            self.encrypted(aes(bytes(16)), self.names["ECB"](), b"x")
        for refused in (
            lambda: aes(bytes(15)),
            lambda: self.names["ARC4"](bytes(6)),
            lambda: cipher(aes(bytes(16)), self.names["CBC"](bytes(8))),
        ):
            with self.assertRaisesRegex(ValueError, "Invalid (key|IV) size"):
                refused()

    def test_only_the_provider_of_pypdf_finds_them(self):
        self.assertIs(documents.LENT["pypdf._crypt_providers._cryptography"], ciphers.OF_PYPDF)
        self.assertFalse(any(name.startswith("cryptography") for name in sys.modules))


def zipped(*members: tuple[str, str]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return file.getvalue()


class FileTypes(unittest.TestCase):
    def test_the_content_tells_the_type(self):
        types_part = ("[Content_Types].xml", "<Types/>")
        for content, label in [
            (b"", "empty"),
            (b"%PDF-1.7\n", "pdf"),
            (b"\x89PNG\r\n\x1a\nrest", "png"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "webp"),
            (zipped(types_part, ("word/document.xml", "")), "docx"),
            (zipped(types_part, ("xl/workbook.xml", "")), "xlsx"),
            (zipped(types_part, ("ppt/presentation.xml", "")), "pptx"),
            (zipped(("mimetype", "application/epub+zip")), "epub"),
            (zipped(("mimetype", "application/vnd.oasis.opendocument.text")), "odt"),
            (zipped(("word.docx", "")), "zip"),
            (b"PK\x03\x04 cut off", "zip"),
            (b"  <!DOCTYPE HTML><p>", "html"),
            (b"<?xml version='1.0'?>\n<rss/>", "xml"),
            (b"<svg xmlns='x'/>", "svg"),
            (b'{"a": 1}', "json"),
            (b'{"cells": [], "nbformat": 4}', "ipynb"),
            (b"{not json", "txt"),
            (b"[" * 50_000, "txt"),
            (b"a,b\n1,2\n", "csv"),
            (b"Dear all,\nas I said, no.\n", "txt"),
            ("Gr\u00f6\u00dfe".encode("latin-1"), "txt"),
            ("text".encode("utf-16"), "txt"),
            (("\u00e4" * 40_000).encode()[1:], "txt"),
            (b"x" + "\u00e4".encode() * 40_000, "txt"),
            (b"\xd0\xcf\x11\xe0", "txt"),
            (bytes(range(256)), "unknown"),
        ]:
            with self.subTest(content[:30]):
                self.assertEqual(file_types.label_of(io.BytesIO(content)), label)

    def test_a_stream_stays_where_it_is(self):
        stream = io.BytesIO(b"xx%PDF")
        stream.seek(2)
        names: dict[str, object] = {}
        file_types.fill_module(names)
        result = names["Magika"]().identify_stream(stream)
        self.assertEqual((stream.tell(), result.status, result.prediction.output.label), (2, "ok", "txt"))


class Lent(unittest.TestCase):
    def test_modules_are_lent_to_one_module_alone(self):
        hooks = import_hooks.HookFinder()
        with tempfile.TemporaryDirectory() as folder:
            for name in ("lent_user", "lent_other"):
                Path(folder, f"{name}.py").write_text("from no_such.deep import value\n")
            hooks.lend({"lent_user": {"no_such.deep": lambda names: names.update(value=7)}})
            hooks.change({"lent_user": lambda module: setattr(module, "changed", True)})
            sys.path.insert(0, folder)
            sys.meta_path.insert(0, hooks)
            try:
                import lent_user

                self.assertEqual((lent_user.value, lent_user.changed), (7, True))
                self.assertNotIn("no_such.deep", sys.modules)
                with self.assertRaises(ModuleNotFoundError):
                    import lent_other  # noqa: F401
            finally:
                sys.meta_path.remove(hooks)
                sys.path.remove(folder)
                sys.modules.pop("lent_user", None)


class Ignored(unittest.TestCase):
    def test_warnings_of_one_module_are_ignored_while_it_is_loaded(self):
        hooks = import_hooks.HookFinder()
        hooks.ignore({"noisy_module": r"\w+ size changed"})
        text = (
            "import warnings\n"
            "def warn(text='type size changed, by 4'):\n"
            "    warnings.warn(text, RuntimeWarning, stacklevel=2)\n"
            "warn()\nwarn('something else')\n"
        )
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Path(folder, "noisy_module.py").write_text(text)
            sys.path.insert(0, folder)
            sys.meta_path.insert(0, hooks)
            try:
                import noisy_module

                self.assertEqual([str(one.message) for one in caught], ["something else"])
                noisy_module.warn()
                self.assertEqual(str(caught[-1].message), "type size changed, by 4")
                self.assertEqual(type(noisy_module.__loader__).__name__, "SourceFileLoader")
                self.assertIs(noisy_module.__spec__.loader, noisy_module.__loader__)
            finally:
                sys.meta_path.remove(hooks)
                sys.path.remove(folder)
                sys.modules.pop("noisy_module", None)


class Refusals(unittest.TestCase):
    def test_advice_takes_the_place_of_what_cannot_be_installed(self):
        def imopen(uri, error):
            raise error

        module = types.SimpleNamespace(imopen=imopen)
        documents.CHANGED["imageio.core.imopen"](module)
        for error, kind, said in [
            (OSError("No backend\nBased on the extension, these:\n  FFMPEG:  pip install imageio[ffmpeg]"), OSError, "No backend; no video"),
            (ImportError("The `pyav` plugin is not installed. Use `pip install imageio[pyav]` to install it."), ImportError, "installed; no video"),
            (OSError("No backend\nBased on the extension, these:\n  pyav:  pip install imageio[pyav]"), OSError, "PNG, JPEG, GIF"),
            (ImportError("The `gdal` plugin is not installed. Use `pip install imageio[gdal]` to"), ImportError, "PNG, JPEG, GIF"),
            (FileNotFoundError(2, "No such file", "x"), FileNotFoundError, "No such file"),
        ]:  # fmt: skip
            with self.subTest(said), self.assertRaises(kind) as caught:
                module.imopen("a.xyz", error)
            self.assertIn(said, str(caught.exception))
            self.assertNotIn("pip", str(caught.exception))
        for legacy, kind in ((True, ValueError), (False, OSError)):
            with self.assertRaisesRegex(kind, "A.MP4` cannot be opened; no video codec"):
                module.imopen(Path("A.MP4"), None, legacy_mode=legacy)

    def test_plugins_that_call_c_libraries_are_missing(self):
        def find(config):
            raise config.error

        module = types.SimpleNamespace(
            PluginConfig=type("PluginConfig", (), {"plugin_class": property(find), "format": property(find)})
        )
        documents.CHANGED["imageio.config.plugins"](module)
        config = module.PluginConfig()
        config.name = "EXR-FI"
        for error, kind in ((OSError("ctypes is unavailable"), ImportError), (RuntimeError("x"), RuntimeError)):
            config.error = error
            for name in ("plugin_class", "format"):
                with self.assertRaises(kind):
                    getattr(config, name)

    def test_dicom_is_written_under_its_names_and_where_it_is_asked_for(self):
        class Base:
            def __init__(self, request):
                self.request = request

        class Plugin(Base):
            def __init__(self, request, **named):
                super().__init__(request)

        modes = types.SimpleNamespace(read="r", write="w")
        module = types.SimpleNamespace(PydicomPlugin=Plugin, IOMode=modes, InitializationError=LookupError)
        documents.CHANGED["imageio.plugins.pydicom"](module)
        extensions = types.ModuleType("imageio.config.extensions")
        extensions.known_extensions = {".dcm": [types.SimpleNamespace(priority=["DICOM", "pydicom"])]}

        def imopen(uri, mode, plugin=None):
            extension = "." + uri.partition(".")[2]
            return Plugin(types.SimpleNamespace(mode=types.SimpleNamespace(io_mode=mode), extension=extension))

        opener = types.SimpleNamespace(imopen=imopen)
        documents.CHANGED["imageio.core.imopen"](opener)
        with unittest.mock.patch.dict(sys.modules, {"imageio.config.extensions": extensions}):
            for uri, mode, plugin in (("a.dcm", "w", None), ("a.svg", "r", None), ("a.svg", "w", "pydicom")):
                self.assertIsInstance(opener.imopen(uri, mode, plugin=plugin), Plugin)
            with self.assertRaises(LookupError):
                opener.imopen("a.svg", "w")
            imopen("a.svg", "w")  # a program that uses the class itself

    def test_pictures_of_charts_are_refused_with_advice(self):
        module = types.SimpleNamespace(renderers=types.SimpleNamespace(default="browser"))
        charts.show_as_files(module)
        self.assertIsNone(module.renderers.default)
        with self.assertRaisesRegex(RuntimeError, "write_html"):
            module.show(types.SimpleNamespace(to_plotly_json=None), renderer="svg")
