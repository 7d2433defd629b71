"""Runs the kernel as Jupyter asks for it, or installs it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

NOT_INSTALLED = "the kernel needs ipykernel: pip install 'wardian[jupyter]'"


def main(arguments: Sequence[str]) -> int:
    """Runs the command line, and returns the exit code."""
    if importlib.util.find_spec("ipykernel") is None:
        print(NOT_INSTALLED, file=sys.stderr)
        return 1
    if arguments and arguments[0] == "install":
        from wardian.jupyter import install

        return install.main(arguments[1:])
    from wardian.jupyter.app import WardianKernelApp

    WardianKernelApp.launch_instance(list(arguments))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
