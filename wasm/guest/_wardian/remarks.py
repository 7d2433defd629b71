"""Remarks on errors whose text does not show that the sandbox is the reason.

Natively `os.environ["API_KEY"]` works where the variable is set, and standard input has data. The
text of such an error is Python's own, and the same for other reasons, so the frames that have
failed decide.
"""

from __future__ import annotations

import errno
import os
import sys
from collections import deque
from collections.abc import Iterator
from types import FrameType
from typing import Any

from _wardian import door, foreign, places

_FRAMES_MAX = 64
_CHAIN_MAX = 16

_LENGTH = (
    "a length has 32 bits here: for a range use `(r.stop - r.start) // r.step`, which is its length"
)
_NO_INPUT = "standard input is empty here: pass the data in `args`, or as a blob in `input_blobs`"
NO_STDIN = "the text for it is `stdin` of the call, on the command line `--stdin`"
"""What a script does without that reads its standard input."""

_NO_DATA = (
    "example data that are fetched are not there: use load_iris, load_digits, load_wine, "
    "load_diabetes, load_breast_cancer or make_* of sklearn.datasets, or pass a file as a blob"
)
_CERTIFICATE = (
    "an authority that only your network knows is trusted if the server's operator sets "
    "`network.ca_file`"
)
_ENVIRONMENT = "the environment has no variables of your machine: pass the value in `args`"
_SECRET = (
    "; a skill gets secrets as variables if `secrets` in `[permissions]` of its skill.toml names "
    "them"
)

_DATA_PACKAGES = ("sklearn.datasets", "seaborn", "statsmodels.datasets", "scipy.datasets")
_DATA_FUNCTIONS = frozenset({
    "download", "get_rdataset", "load_dataset", "load_sample_image", "load_sample_images",
})
_INPUT_ERRORS = frozenset({
    "EOFError", "EmptyDataError", "IndexError", "JSONDecodeError", "StopIteration", "ValueError",
})


def of(exception: BaseException) -> str | None:
    """Returns the remark on an error that ends the program; `None` for most of them."""
    kind = type(exception).__name__
    frames = _last_frames(exception)
    if kind == "KeyError" and _is_of_environment(frames):
        is_skill = "skill" in door.job.get("program", {})
        return _ENVIRONMENT + (_SECRET if is_skill else "")
    if kind == "OverflowError" and "C ssize_t" in str(exception) and _uses(frames, "len"):
        return _LENGTH
    if kind in _INPUT_ERRORS and _has_read_nothing(exception, frames):
        return f"standard input is empty here: {NO_STDIN}" if of_script() else _NO_INPUT
    if kind == "CalledProcessError" and getattr(exception, "returncode", None) == 127:
        return foreign.advice_in(getattr(exception, "cmd", ""))
    if any(_fetches_data(frame) for frame in frames) and _is_missing(exception):
        return _NO_DATA
    if any(_lacks_authority(error) for error in _chain(exception)):
        return _CERTIFICATE
    if any(_lacks_room(error) for error in _chain(exception)):
        return _full_workspace()
    return None


def of_script() -> bool:
    """True if the program is a script of a skill, which a call gives a standard input."""
    skill = door.job.get("program", {}).get("skill")
    return bool(skill and skill.get("script"))


def _last_frames(exception: BaseException) -> list[FrameType]:
    found: deque[FrameType] = deque(maxlen=_FRAMES_MAX)
    trace = exception.__traceback__
    while trace is not None:
        found.append(trace.tb_frame)
        trace = trace.tb_next
    return list(found)


def _chain(exception: BaseException) -> Iterator[BaseException]:
    """The exception and those that it came from, also those that libraries keep as arguments."""
    pending: list[Any] = [exception]
    for _ in range(_CHAIN_MAX):
        if not pending:
            return
        error = pending.pop()
        yield error
        pending += [
            other
            for other in (*error.args[:2], getattr(error, "reason", None), error.__cause__,
                          error.__context__)
            if isinstance(other, BaseException)
        ]  # fmt: skip


def _is_of_environment(frames: list[FrameType]) -> bool:
    if not frames:
        return False
    code = frames[-1].f_code
    return code.co_name == "__getitem__" and frames[-1].f_globals.get("__name__") == "os"


def _own(frames: list[FrameType]) -> list[FrameType]:
    library = (places.LIBRARY, places.BATTERIES, places.LAYERS, places.OWN_CODE, "<frozen")
    return [frame for frame in frames if not frame.f_code.co_filename.startswith(library)]


def _uses(frames: list[FrameType], name: str) -> bool:
    own = _own(frames)
    return bool(own) and name in own[-1].f_code.co_names


def _has_read_nothing(exception: BaseException, frames: list[FrameType]) -> bool:
    """True if a program that reads standard input fails because nothing came."""
    if sys.stdin is not sys.__stdin__:
        return False
    if not any("stdin" in frame.f_code.co_names for frame in _own(frames)):
        return False
    kind, text = type(exception).__name__, str(exception)
    if kind == "JSONDecodeError":
        return not getattr(exception, "doc", "x")
    if kind == "ValueError":
        return text.endswith(": ''") or "not enough values" in text or "empty" in text
    return True


def _is_missing(exception: BaseException) -> bool:
    """True if something was not there: files of a package, or a network."""
    is_file = isinstance(exception, (ImportError, FileNotFoundError))
    return is_file or "no network" in str(exception)


def _lacks_authority(error: BaseException) -> bool:
    """True for a certificate of an issuer that nobody here knows, and not for an expired one."""
    text = str(error)
    is_unknown = "issuer" in text or "self-signed" in text or "self signed" in text
    return type(error).__name__ == "SSLCertVerificationError" and is_unknown


def _lacks_room(error: BaseException) -> bool:
    is_system = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return is_system and error.strerror == os.strerror(errno.ENOSPC)


def _full_workspace() -> str:
    """Names the limit that a full workspace has reached, and the setting that raises it."""
    space = os.statvfs(places.WORKSPACE)
    if space.f_ffree == 0:
        return (
            f"a run may have {space.f_files:,} files and folders: the operator raises that with "
            "`limits.workspace_entries` and `limits.max.workspace_entries`"
        )
    size = space.f_blocks * space.f_frsize
    shown = f"{size >> 20:,} MiB" if size % (1 << 20) == 0 else f"{size:,} bytes"
    return (
        f"the files of this run may have {shown} in all: a call asks for more with "
        "`limits.workspace_bytes`, up to the operator's `limits.max.workspace`; a session does so in the call "
        "that begins it"
    )


def _fetches_data(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__"))
    function = frame.f_code.co_name
    is_data = function in _DATA_FUNCTIONS or function.startswith("fetch_")
    return is_data and name.startswith(_DATA_PACKAGES)
