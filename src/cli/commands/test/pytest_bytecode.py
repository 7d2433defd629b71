"""Runs pytest once for `wardian test`, so that it and Python leave the bytecode of what they import.

Python looks for bytecode below `sys.pycache_prefix`, and so does pytest for the plugins whose asserts
it rewrites. The runner of tests puts there what this program returns.
"""

PLACE = "/tmp/.bytecode"

# Tests with every end, so that what pytest imports late is there too.
SAMPLE = '''
import unittest
import warnings

import pytest


@pytest.fixture
def number():
    yield 1


@pytest.mark.parametrize("n", [1, 2])
def test_passes(n, number, tmp_path, capsys, monkeypatch, recwarn, caplog, request):
    assert n >= number
    with pytest.raises(ValueError, match="x"):
        raise ValueError("x")
    assert 1.0 == pytest.approx(1)


def test_fails():
    assert {"a": [1, 2]} == {"a": [1, 3]}, "because"


def test_differs():
    assert "a\\nb" == "a\\nc"


def test_raises():
    warnings.warn("w")
    print("printed")
    raise KeyError("x")


def test_skips():
    pytest.skip("x")


@pytest.mark.xfail(reason="x")
def test_is_expected_to_fail():
    assert False


class TestClass(unittest.TestCase):
    def test_method(self):
        self.assertEqual(1, 2)
'''


def main(args):
    import io
    import json
    import os
    import sys

    from runtime import blobs

    sys.pycache_prefix = PLACE
    sys.dont_write_bytecode = False
    try:
        import pytest
    except ImportError:
        return {"blob": None}
    os.makedirs("/tmp/.sample")
    os.chdir("/tmp/.sample")
    with open("test_sample.py", "w") as file:
        file.write(SAMPLE)
    output, sys.stdout = sys.stdout, io.StringIO()
    try:
        code = pytest.main(["-q", "--color=no", "--tb=short", "-p", "no:cacheprovider", "test_sample.py"])
        said = sys.stdout.getvalue()
    finally:
        sys.stdout = output
    if int(code) != 1 or "4 failed, 2 passed, 1 skipped, 1 xfailed" not in said:
        raise RuntimeError(f"pytest ended with code {int(code)}: {said[-2000:]}")
    # That of the packages alone, where they are.
    found = []
    for folder, folders, names in os.walk(PLACE + os.path.dirname(pytest.__path__[0])):
        folders.sort()
        for name in sorted(names):
            with open(f"{folder}/{name}", "rb") as file:
                found.append((f"{folder}/{name}"[len(PLACE) + 1 :], file.read()))
    head = json.dumps([[path, len(content)] for path, content in found]).encode()
    packed = b"\n".join([head, b"".join(content for _, content in found)])
    return {"blob": blobs.write_bytes(packed)}
