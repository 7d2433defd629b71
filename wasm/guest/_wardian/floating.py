"""Refuses to report floating-point errors, which WebAssembly does not notice.

NumPy reads the processor's flags after each operation. WebAssembly has no such flags, so a division
by zero gives the right result without a report. A program that asks for exceptions, calls or
messages would never get them. `amendments` calls `amend_ufunc_config`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from _wardian import places

_REPORTS = frozenset({"raise", "call", "print", "log"})
"""Ways to handle an error by which a program learns of it. `warn` is the default and harmless."""

_KINDS = ("all", "divide", "over", "under", "invalid")
"""Arguments of `np.seterr`, in their order."""


def amend_ufunc_config(module: Any) -> None:
    """`np.errstate` and `np.seterr` refuse what cannot be kept."""
    errstate = module.errstate
    plain = errstate.__init__

    @functools.wraps(plain)
    def __init__(self: Any, **named: Any) -> None:
        _ensure_possible(named, sys._getframe(1))
        plain(self, **named)

    errstate.__init__ = __init__
    module.seterr = _checked(module.seterr)


def _checked(seterr: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(seterr)
    def checked(*args: Any, **named: Any) -> Any:
        _ensure_possible(dict(zip(_KINDS, args, strict=False)) | named, sys._getframe(1))
        return seterr(*args, **named)

    return checked


def _ensure_possible(modes: dict[str, Any], caller: Any) -> None:
    # Packages ask for reports that their own compiled code makes, as `np.linalg` does.
    if caller.f_code.co_filename.startswith(places.LIBRARY):
        return
    for kind in _KINDS:
        mode = modes.get(kind)
        if isinstance(mode, str) and mode in _REPORTS:
            raise NotImplementedError(
                f"{kind}={mode!r}: this interpreter does not notice floating-point errors, so "
                "NumPy cannot report them; check the operands before the operation, or the result "
                "with `np.isfinite(result).all()`"
            )
