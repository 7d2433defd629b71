"""Replacements of native code in the batteries for documents."""

from __future__ import annotations

import io
import sys
import tempfile
import types
import unittest
import unittest.mock
import uuid
import zipfile
from pathlib import Path

from _wardian import charts, ciphers, documents, file_types, import_hooks, sealing, time_ordered


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


class Sealing(unittest.TestCase):
    """The examples of the specification of GCM (4 and 6), and of RFC 5869 (1)."""

    KEY = bytes.fromhex("feffe9928665731c6d6a8f9467308308")
    PLAIN = bytes.fromhex(
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    )
    MORE = bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
    EXAMPLES = (
        (
            "cafebabefacedbaddecaf888",
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
            "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
            "5bc94fbc3221a5db94fae95ae7121a47",
        ),
        (
            "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728"
            "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
            "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
            "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5"
            "619cc5aefffe0bfa462af43c1699d050",
        ),
    )

    def test_what_is_sealed_is_as_in_the_standard(self):
        cipher = sealing.AESGCM(self.KEY)
        for nonce, sealed in self.EXAMPLES:
            nonce = bytes.fromhex(nonce)
            self.assertEqual(cipher.encrypt(nonce, self.PLAIN, self.MORE).hex(), sealed)
            self.assertEqual(cipher.decrypt(nonce, bytes.fromhex(sealed), self.MORE), self.PLAIN)

    def test_what_was_changed_is_refused(self):
        cipher, nonce = sealing.AESGCM(bytes(32)), bytes(12)
        sealed = cipher.encrypt(nonce, b"state", None)
        for wrong, more in ((sealed[:-1], None), (b"", None), (sealed, b"x"), (bytes([sealed[0] ^ 1]) + sealed[1:], None)):
            with self.assertRaises(sealing.InvalidTag):
                cipher.decrypt(nonce, wrong, more)
        self.assertEqual(cipher.decrypt(nonce, cipher.encrypt(nonce, b"", None), b""), b"")
        for key, nonce in ((bytes(15), bytes(12)), (bytes(16), bytes(7))):
            with self.assertRaises(ValueError):
                sealing.AESGCM(key).encrypt(nonce, b"", None)

    def test_a_counter_at_its_end_begins_again(self):
        cipher, last = sealing.AESGCM(self.KEY), (1 << 128) - 1
        begun = cipher._counted(last, bytes(32))
        self.assertEqual(begun[16:], cipher._block(((last >> 32 << 32) + 1).to_bytes(16, "big")))

    def test_keys_are_derived_as_in_the_standard(self):
        derived = sealing.HKDF(sealing.SHA256(), 42, bytes(range(13)), bytes(range(0xF0, 0xFA))).derive(b"\x0b" * 22)
        expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        self.assertEqual(derived.hex(), expected)
        self.assertEqual(len(sealing.HKDF(sealing.SHA256(), 8160, None, None).derive(b"x")), 8160)
        with self.assertRaises(ValueError):
            sealing.HKDF(sealing.SHA256(), 8161, None, None)


class TimeOrdered(unittest.TestCase):
    @unittest.skipUnless(hasattr(uuid, "uuid7"), "Python 3.14 has uuid7")
    def test_identifiers_of_now_are_in_order(self):
        made = [time_ordered.uuid7() for _ in range(100)]
        self.assertEqual(made, sorted(made))

    def test_identifiers_have_the_time_that_is_asked_for(self):
        made = {time_ordered.uuid7(1_700_000_000, 123_456_789) for _ in range(100)}
        self.assertEqual({one.int >> 80 for one in made}, {1_700_000_000_123})
        self.assertEqual({(one.int >> 76 & 15, one.variant) for one in made}, {(7, uuid.RFC_4122)})
        self.assertEqual(len(made), 100)
        for time in (-1, 1 << 40):
            with self.assertRaises(OverflowError):
                time_ordered.uuid7(time)


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
