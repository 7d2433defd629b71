"""The package `runtime`, as programs use it."""

from __future__ import annotations

import builtins
import io
import json
import os
import sys
import types
from unittest import mock

import runtime
from runtime import blobs
from tests.support import Refusal, Sandbox, places


class Blobs(Sandbox):
    def test_blobs_are_read_in_every_form(self):
        blob = self.mount_blob("blob:abc", b'{"a":\r\n"\xc3\xa9"}', "application/json")
        source = (
            "from runtime import blobs\n"
            "def main(args):\n"
            "    id = args['id']\n"
            "    with blobs.open(id, 'r') as text, blobs.open(id) as data:\n"
            "        opened = [text.read(), data.read().decode()]\n"
            "    [first] = blobs.list()\n"
            "    return [blobs.read_text(id), blobs.read_bytes(id).decode('latin-1'),\n"
            "            blobs.read_json(id), opened, first.kind, first.size_bytes,\n"
            "            blobs.read_text(first), blobs.list(), open(blobs.path(id)).read()]\n"
        )
        text = '{"a":\r\n"é"}'
        self.assertEqual(
            self.returns(source, blobs=[blob], args={"id": "blob:abc"}),
            [
                text,
                text.encode().decode("latin-1"),
                {"a": "é"},
                [text.replace("\r", ""), text],
                "application/json",
                12,
                text,
                [blob],
                text.replace("\r", ""),
            ],
        )

    def test_text_can_be_read_in_another_encoding(self):
        self.mount_blob("blob:latin", b"\xe9")
        self.assertEqual(blobs.read_text("blob:latin", "latin-1"), "é")
        self.assertEqual(blobs.read_text("blob:latin", errors="replace"), "\ufffd")
        with self.assertRaises(UnicodeDecodeError):
            blobs.read_text("blob:latin")

    def test_an_unknown_blob_is_named_with_the_remedy(self):
        blob = self.mount_blob("blob:abc", b"")
        for call in ("read_text", "read_bytes", "read_json", "open", "path"):
            with self.subTest(call):
                source = f"from runtime import blobs\nblobs.{call}('blob:other')"
                report = self.fails(source, blobs=[blob])
                self.assertEqual(report["type"], "BlobNotFound")
                self.assertEqual(
                    report["message"],
                    "the blob `blob:other` is not mounted in this run; add it to `input_blobs` "
                    "(mounted: `blob:abc`)",
                )
        report = self.fails("from runtime import blobs\nblobs.read_text('abc')", blobs=[blob])
        self.assertEqual(
            report["message"],
            "no mounted blob is named `abc`, and ids start with `blob:` (mounted: `blob:abc`)",
        )

    def test_a_mounted_blob_is_read_by_its_name(self):
        blob = self.mount_blob("blob:abc", b"a,b\n") | {"name": "sales.csv"}
        source = (
            "from runtime import blobs\n"
            "def main(args):\n"
            "    [blob] = blobs.list()\n"
            "    return [blobs.read_text('sales.csv'), blobs.path('sales.csv')[-8:], blob.name]\n"
        )
        self.assertEqual(self.returns(source, blobs=[blob]), ["a,b\n", "blob:abc", "sales.csv"])
        report = self.fails("from runtime import blobs\nblobs.open('b.csv')", blobs=[blob])
        self.assertIn("(mounted: `sales.csv` = `blob:abc`)", report["message"])

    def test_a_blob_is_read_by_each_of_its_names(self):
        self.mount_blob("blob:abc", b"a,b\n")
        self.mount_blob("january.csv", b"a,b\n")  # as the host does for earlier names
        blob = {"id": "blob:abc", "kind": "text/csv", "size_bytes": 4, "name": "february.csv"}
        source = (
            "from runtime import blobs\n"
            "[blobs.read_text(name) for name in ('february.csv', 'january.csv', 'blob:abc')]"
        )
        self.assertEqual(self.returns(source, blobs=[blob]), ["a,b\n"] * 3)
        report = self.fails("from runtime import blobs\nblobs.read_text('../x')", blobs=[blob])
        self.assertIn("no mounted blob is named `../x`", report["message"])

    def test_a_missing_file_says_what_is_mounted(self):
        blob = self.mount_blob("blob:abc", b"") | {"name": "sales.csv"}
        for source in ("open('data.csv')", "import os\nos.stat('./data.csv')"):
            report = self.fails(source, blobs=[blob])
            self.assertEqual(report["type"], "FileNotFoundError")
            self.assertIn("(mounted: `sales.csv` = `blob:abc`)", report["message"])
            self.assertIn("`input_blobs`", report["message"])
        self.assertIn("(mounted: none)", self.fails("open('data.csv')")["message"])
        many = [{"id": f"blob:{n}", "kind": "a/b", "size_bytes": 0} for n in range(20)]
        self.assertIn("`blob:7`, 12 others)", self.fails("open('x.csv')", blobs=many)["message"])
        self.assertNotIn("mounted", self.fails("open('out/deep/x.csv')")["message"])

    def test_a_foreign_path_says_where_the_file_is_or_belongs(self):
        blob = self.mount_blob("blob:abc", b"") | {"name": "sales.csv"}
        for source, words in [
            ("open('/mnt/nowhere/sales.csv')", "it is mounted as `sales.csv`"),
            ("open('sub/sales.csv')", "it is mounted as `sales.csv`"),
            ("open('/mnt/nowhere/other.csv')", "pass it as a blob in `input_blobs`"),
            ("open('/mnt/nowhere/made.csv', 'w')", "/workspace, and what is left there is given"),
            ("import os\nos.mkdir('/nowhere/at/all')", "use `all`"),
            ("import pathlib\npathlib.Path('/mnt/nowhere/x.txt').write_text('')", "use `x.txt`"),
        ]:
            with self.subTest(source):
                self.assertIn(words, self.fails(source, blobs=[blob])["message"])

    def test_new_blobs_have_names(self):
        source = (
            "from runtime import blobs\n"
            "def main(args):\n"
            "    open('table.csv', 'w').write('a,b')\n"
            "    blobs.write_text('x', name='notes.md')\n"
            "    blobs.write_bytes(b'x', name='x.bin')\n"
            "    blobs.write_json(1, name='täglich.json')\n"
            "    blobs.write_file('table.csv')\n"
            "    blobs.write_file('table.csv', name='sales.tsv')\n"
            "    blobs.write_text('y')\n"
        )
        self.returns(source)
        self.assertEqual([kind for kind, _ in self.written.values()], [
            "text/markdown", "application/octet-stream", "application/json", "text/csv", "text/csv",
            "text/plain",
        ])  # fmt: skip
        ids = list(self.written)
        names = ["notes.md", "x.bin", "täglich.json", "table.csv", "sales.tsv"]
        self.assertEqual(self.blob_names, dict(zip(ids, names, strict=False)))

    def test_a_name_that_no_file_has_is_refused_before_anything_is_stored(self):
        wrong = ("", ".", "..", "a/b", "a\\b", "a\0", "a\n", "\x85", "\u202e", "é" * 128, "\ud800")
        for name in wrong:
            with self.subTest(name), self.assertRaises(ValueError):
                blobs.write_text("x", name=name)
        with self.assertRaisesRegex(TypeError, "not int"):
            blobs.write_text("x", name=3)
        self.assertEqual(self.written, {})

    def test_an_id_cannot_lead_elsewhere(self):
        for blob_id in ("../x", "blob:../../etc/passwd", "blob:a\0", "/etc/passwd", ""):
            with self.subTest(blob_id), self.assertRaises(runtime.BlobNotFound):
                blobs.read_bytes(blob_id)
        with self.assertRaisesRegex(TypeError, "not int"):
            blobs.read_bytes(5)

    def test_blobs_are_not_opened_for_writing(self):
        with self.assertRaisesRegex(ValueError, "write_text"):
            blobs.open("blob:abc", "w")

    def test_blobs_are_written_in_every_form(self):
        source = (
            "from runtime import blobs\n"
            "def main(args):\n"
            "    open('table.CSV', 'w').write('a,b')\n"
            "    ids = [blobs.write_text('é'), blobs.write_text('x', kind='text/csv'),\n"
            "           blobs.write_bytes(bytearray(b'\\0')), blobs.write_json({'a': (1,)}),\n"
            "           blobs.write_file('table.CSV'), blobs.write_file('table.CSV', 'x/y')]\n"
            "    assert blobs.read_text(ids[0]) == 'é'\n"
            "    return ids\n"
        )
        ids = self.returns(source)
        self.assertEqual(ids, list(self.written))
        self.assertEqual(
            list(self.written.values()),
            [
                ("text/plain", "é".encode()),
                ("text/csv", b"x"),
                ("application/octet-stream", b"\0"),
                ("application/json", b'{"a":[1]}'),
                ("text/csv", b"a,b"),
                ("x/y", b"a,b"),
            ],
        )

    def test_what_cannot_be_written_is_an_error_before_the_host_is_asked(self):
        os.mkdir("folder")
        for call, kind in [
            (lambda: blobs.write_text(b"x"), TypeError),
            (lambda: blobs.write_bytes("x"), TypeError),
            (lambda: blobs.write_json({1}), TypeError),
            (lambda: blobs.write_text("x", kind=""), ValueError),
            (lambda: blobs.write_text("x", kind=3), TypeError),
            (lambda: blobs.write_text("x", kind="a" * 70_000), ValueError),
            (lambda: blobs.write_text("\ud800"), UnicodeEncodeError),
            (lambda: blobs.write_file("missing"), FileNotFoundError),
            (lambda: blobs.write_file("folder"), IsADirectoryError),
            (lambda: blobs.write_file(None), TypeError),
        ]:
            with self.assertRaises(kind):
                call()
        self.assertEqual(self.written, {})

    def test_a_kind_that_nobody_knows_is_bytes(self):
        for name, kind in [
            ("a.png", "image/png"),
            ("a", "application/octet-stream"),
            (".csv", "text/csv"),
            ("a.b.json", "application/json"),
            ("csv/a", "application/octet-stream"),
        ]:
            self.assertEqual(blobs._kind_of(name), kind)


class Refusals(Sandbox):
    def test_a_refusal_is_an_exception_of_that_name(self):
        for name in ("HostCallLimit", "QuotaExceeded", "PolicyDenied", "SomethingNew"):
            with self.subTest(name):
                self.refusals[5] = Refusal(name, "because")
                report = self.fails("from runtime import blobs\nblobs.write_text('x')")
                self.assertEqual((report["type"], report["message"]), (name, "because"))
                self.assertTrue(report["traceback"].endswith(f"runtime.{name}: because"))

    def test_refusals_can_be_caught_by_name_and_as_one(self):
        source = (
            "import runtime\n"
            "from runtime import QuotaExceeded\n"
            "def main():\n"
            "    try:\n"
            "        runtime.blobs.write_text('x')\n"
            "    except QuotaExceeded as refused:\n"
            "        assert isinstance(refused, runtime.Refused)\n"
            "        return str(refused)\n"
        )
        self.refusals[5] = Refusal("QuotaExceeded", "full")
        self.assertEqual(self.returns(source), "full")

    def test_a_refusal_named_like_an_exception_of_python_is_one_too(self):
        for name in (
            "ValueError",
            "OSError",
            "PermissionError",
            "FileNotFoundError",
            "IsADirectoryError",
            "RuntimeError",
            "TimeoutError",
            "KeyError",
            "UnicodeDecodeError",
            "MemoryError",
        ):
            source = (
                "import runtime\n"
                "def main(args):\n"
                "    try:\n"
                "        runtime.blobs.write_text('x')\n"
                f"    except {name} as refused:\n"
                "        assert isinstance(refused, runtime.Refused)\n"
                "        return [type(refused).__name__, str(refused)]\n"
            )
            with self.subTest(name):
                self.refusals[5] = Refusal(name, "because")
                self.assertEqual(self.returns(source, args={}), [name, "because"])

    def test_no_refusal_ends_a_program_as_python_ends_itself(self):
        for name in ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "BaseException", "print"):
            with self.subTest(name):
                self.refusals[5] = Refusal(name, "because")
                source = (
                    "import runtime\n"
                    "try:\n"
                    "    runtime.blobs.write_text('x')\n"
                    "except runtime.Refused as refused:\n"
                    "    print(type(refused).__mro__[1].__name__)\n"
                )
                self.returns(source)
                self.assertEqual(self.printed, "Refused\n")

    def test_a_hidden_builtin_hides_no_refusal(self):
        self.refusals[5] = Refusal("ConnectionError", "because")
        source = (
            "import builtins, runtime\n"
            "builtins.ConnectionError = int\n"
            "runtime.blobs.write_text('x')\n"
        )
        real = ConnectionError
        try:
            report = self.fails(source)
        finally:
            builtins.ConnectionError = real
        self.assertEqual((report["type"], report["message"]), ("ConnectionError", "because"))

    def test_a_name_that_is_no_name_does_not_become_a_class(self):
        self.refusals[5] = Refusal("not a name")
        report = self.fails("from runtime import blobs\nblobs.write_text('x')")
        self.assertEqual(report["type"], "Refused")


class Logs(Sandbox):
    def test_messages_arrive_with_their_level(self):
        source = "from runtime import log\n" + "".join(
            f"log.{level}('at %s', '{level}')\n" for level in ("debug", "info", "warning", "error")
        )
        self.returns(source)
        levels = ["debug", "info", "warning", "error"]
        self.assertEqual(self.logs, [(level, f"at {level}") for level in levels])

    def test_anything_can_be_logged(self):
        self.returns(
            "from runtime import log\n"
            "log.info('100%')\n"
            "log.info({'a': 1})\n"
            "log.info('%d rows', 3)\n"
            "log.info('%d rows', 'x')\n"
            "log.info('no placeholder', 1)\n"
            "log.info('%(a)s', {'a': 5})\n"
            "log.info('fields', row=3, name='x', text='a b', message='m', level=None)\n"
            "log.info('\\ud800')\n"
        )
        self.assertEqual(
            [text for _, text in self.logs],
            [
                "100%",
                "{'a': 1}",
                "3 rows",
                "%d rows ('x',)",
                "no placeholder (1,)",
                "5",
                "fields row=3 name=x text='a b' message=m level=None",
                "?",
            ],
        )

    def test_logging_never_fails(self):
        self.refusals[4] = Refusal("HostCallLimit")
        stderr = io.StringIO()
        with mock.patch("runtime.log._stderr", stderr):
            self.returns(
                "from runtime import log\n"
                "class Bad:\n"
                "    def __str__(self): raise KeyError\n"
                "    __repr__ = __str__\n"
                "log.info('refused')\n"
                "log.info(Bad())\n"
                "log.info('%d', Bad())\n"
            )
        self.assertEqual(stderr.getvalue(), "info: refused\n")
        unprintable = ("info", "(this message cannot be printed: KeyError)")
        self.assertEqual(self.logs, [unprintable, unprintable])


class Run(Sandbox):
    def test_a_program_knows_its_run(self):
        source = (
            "import runtime\n"
            "from runtime import run\n"
            "from runtime.run import id\n"
            "def main(args):\n"
            "    assert run.args == args == {'a': 1}\n"
            "    return [run.id, runtime.run.id, id, dir(run)]\n"
        )
        value = self.returns(source, args={"a": 1})
        self.assertEqual(value, ["run_test"] * 3 + [["args", "id"]])
        report = self.fails("from runtime import run\nrun.secret")
        self.assertEqual(report["message"], "module 'runtime.run' has no attribute 'secret'")


class Secrets(Sandbox):
    def test_a_skill_has_what_it_declares(self):
        source = (
            "import os\n"
            "from runtime import secrets\n"
            "def main(args):\n"
            "    os.environ.pop('B_KEY')\n"
            "    return [secrets.get('A_KEY'), secrets.get('B_KEY'), secrets.names(), dir(secrets)]\n"
        )
        value = self.returns(source, environment={"B_KEY": "b", "A_KEY": "é"})
        listed = ["SecretNotDeclared", "get", "names"]
        self.assertEqual(value, ["é", "b", ["A_KEY", "B_KEY"], listed])

    def test_what_is_not_declared_is_named_with_the_line_to_add(self):
        source = "from runtime import secrets\ndef main(args): return secrets.get('C_KEY')"
        report = self.fails(source)
        self.assertIn("runtime.SecretNotDeclared", report["traceback"])
        self.assertIn("put the code into a skill that declares it", report["message"])
        job = {"program": {"skill": {"name": "a.b"}}, "environment": {"A_KEY": "value"}}
        with mock.patch("_wardian.door.job", job):
            with self.assertRaises(runtime.SecretNotDeclared) as caught:
                runtime.secrets.get("C_KEY")
        message = str(caught.exception)
        self.assertIn("the skill `a.b` does not declare the secret 'C_KEY'", message)
        self.assertIn('`secrets = ["C_KEY"]`', message)
        self.assertIn("it declares: A_KEY", message)
        self.assertNotIn("value", message)


class Process(Sandbox):
    def test_two_runs_differ_in_their_randomness(self):
        source = "import random\ndef main(): return [random.random(), random.gauss(0, 1)]"
        first, second = (self.returns(source, seed=seed) for seed in (1, 2))
        self.assertNotEqual(first, second)
        self.assertEqual(self.returns(source, seed=1), first)

    def test_the_seed_reaches_numpy_if_it_is_loaded(self):
        mtrand = types.ModuleType("numpy.random.mtrand")
        mtrand._rand = mock.Mock()
        with mock.patch.dict(sys.modules, {"numpy.random.mtrand": mtrand}):
            self.returns("x = 1", seed=0xDEADBEEF_12345678)
        mtrand._rand.seed.assert_called_once_with(0xDEADBEEF)

    def test_secrets_are_environment_variables(self):
        source = "import os\ndef main(): return [os.environ['API_KEY'], os.getenv('API_KEY')]"
        self.assertEqual(self.returns(source, environment={"API_KEY": "é"}), ["é", "é"])

    def test_arguments_of_the_process_are_the_program_alone(self):
        self.assertEqual(self.returns("import sys\ndef main(): return sys.argv"), ["main.py"])

    def test_output_is_kept_apart_from_the_result(self):
        forged = json.dumps({"status": "completed", "output": {"forged": True}})
        source = f"import os\ndef main():\n    print('''\\x02{forged}''')\n    return 1\n"
        self.assertEqual(self.returns(source), 1)
        self.assertIn("forged", self.printed)
        self.assertTrue(places.WORKSPACE.startswith(self.root))
