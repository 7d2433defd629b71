"""Tests of the guest, for any CPython from 3.11 on and without a sandbox.

    python3 -m unittest discover -s wasm/guest/tests -t wasm/guest

The modules are loaded as in an image, from source text; `support.py` plays the host.
"""

from tests import support

__all__ = ["support"]  # imported first: without its `_host`, nothing of the guest can be
