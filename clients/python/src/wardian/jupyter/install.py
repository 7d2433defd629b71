"""Makes the kernel available to Jupyter: `python -m wardian.jupyter install`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager

from wardian._sync.client import Client
from wardian.errors import InvalidSetting

PROGRAM = "python -m wardian.jupyter install"
NAME = "wardian"
DISPLAY_NAME = "Python (Wardian)"


def main(arguments: Sequence[str]) -> int:
    """Installs the kernel as the command line says, and returns the exit code."""
    options = _parser().parse_args(arguments)
    prefix = sys.prefix if options.sys_prefix else options.prefix
    display_name = options.display_name or (
        DISPLAY_NAME if options.name == NAME else f"{DISPLAY_NAME}: {options.name}"
    )
    try:
        spec = kernel_spec(options, display_name)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kernel.json").write_text(json.dumps(spec, indent=2) + "\n")
            manager = KernelSpecManager()
            place = manager.install_kernel_spec(
                folder, kernel_name=options.name, user=prefix is None, prefix=prefix
            )
    except (InvalidSetting, OSError, ValueError) as error:
        print(f"the kernel cannot be installed: {error}", file=sys.stderr)
        return 1
    print(f"installed the kernel `{options.name}` in {place}")
    return 0


def kernel_spec(options: argparse.Namespace, display_name: str) -> dict[str, Any]:
    """The content of `kernel.json`. It never contains a key, since others may be able to read it.

    Raises `InvalidSetting` if the URL or the key file cannot be used.
    """
    command = [sys.executable, "-m", "wardian.jupyter", "-f", "{connection_file}"]
    if options.url is not None:
        # Refuses an invalid one now and not in a notebook.
        Client(options.url, api_key="").close()
        command.append(f"--WardianKernel.url={options.url}")
    if options.key_file is not None:
        key_file = Path(options.key_file).absolute()
        if not key_file.is_file():
            raise InvalidSetting(f"{key_file} is not a file")
        command.append(f"--WardianKernel.key_file={key_file}")
    if options.session is not None:
        command.append(f"--WardianKernel.session_id={options.session}")
    if options.keep:
        command.append("--WardianKernel.keep=True")
    if options.timeout is not None:
        command.append(f"--WardianKernel.timeout={options.timeout}")
    return {
        "argv": command,
        "display_name": display_name,
        "language": "python",
        "interrupt_mode": "message",
        "metadata": {"debugger": False, "supported_encryption": ["curve"]},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, allow_abbrev=False)
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="install for this user [default]")
    place.add_argument("--prefix", metavar="FOLDER", help="install below FOLDER/share/jupyter")
    place.add_argument(
        "--sys-prefix", action="store_true", help="install into this Python environment"
    )
    parser.add_argument(
        "--url", help="address of the server [default: WARDIAN_URL of the kernel's environment]"
    )
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        help="file with the API key [default: WARDIAN_API_KEY of the kernel's environment]",
    )
    parser.add_argument(
        "--session", metavar="ID", help="continue this session, which the kernel never closes"
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep the session when the kernel ends or restarts"
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        metavar="SECONDS",
        help="time limit of a cell [default: that of the server]",
    )
    parser.add_argument("--name", default=NAME, help=f"name of the kernel [default: {NAME}]")
    parser.add_argument("--display-name", help=f"name that Jupyter shows [default: {DISPLAY_NAME}]")
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("it must be more than 0 seconds")
    return seconds
