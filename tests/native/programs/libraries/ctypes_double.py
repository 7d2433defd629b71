import ctypes
from unittest.mock import patch


@patch("ctypes.CDLL", autospec=True)
def loaded(path, double):
    library = ctypes.CDLL(path)
    return [type(library._name).__name__, double.call_count, ctypes.CDLL is double]


def main(args):
    return [ctypes.CDLL._name, ctypes.CDLL._handle, loaded("a.dll")]
