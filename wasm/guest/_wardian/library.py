"""Functions of the standard library with the results of 64-bit Linux.

The C library here has fewer directives of `strftime`, hashes and sizes have 32 bits, and `decimal`
is the implementation in Python. `amendments` calls these functions after the modules were loaded.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any

_LARGEST_SIZE = (1 << 31) - 1
_PRIME = (1 << 61) - 1
"""64-bit hashes of numbers are remainders of a division by this prime."""


def amend_itertools(module: Any) -> None:
    """An `islice` with an end beyond 2^31 items ends with its source."""
    plain = module.islice

    class islice(plain):  # type: ignore[misc] # noqa: N801
        __slots__ = ()
        __doc__ = plain.__doc__

        def __new__(cls, iterable: Any, *bounds: Any) -> Any:
            try:
                return plain.__new__(cls, iterable, *bounds)
            except ValueError:
                return plain.__new__(cls, iterable, *map(_clamped, bounds))

    islice.__module__, islice.__qualname__ = "itertools", "islice"
    module.islice = islice


def _clamped(bound: Any) -> Any:
    is_large = type(bound) is int and _LARGEST_SIZE < bound <= sys.maxsize
    return _LARGEST_SIZE if is_large else bound


def length(values: Any) -> int:
    """Returns `len(values)`, also of a range of more than 2^31 items."""
    if type(values) is not range:
        return len(values)
    return max(0, -((values.start - values.stop) // values.step))


def amend_bisect(module: Any) -> None:
    """A range to search in may have more than 2^31 items."""
    for side in ("left", "right"):
        name = f"bisect_{side}"
        found = _bisecting(getattr(module, name), side == "right")
        setattr(module, name, found)
    module.bisect = module.bisect_right


def _bisecting(plain: Callable[..., int], is_right: bool) -> Callable[..., int]:
    @functools.wraps(plain)
    def bisect(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
        if type(a) is not range or length(a) <= _LARGEST_SIZE:
            return plain(a, x, lo, hi, key=key)
        if lo < 0:
            raise ValueError("lo must be non-negative")
        end = length(a) if hi is None else hi
        while lo < end:
            middle = (lo + end) // 2
            item = a[middle] if key is None else key(a[middle])
            if not (x < item) if is_right else item < x:
                lo = middle + 1
            else:
                end = middle
        return lo

    return bisect


def amend_platform(module: Any) -> None:
    """The interpreter of a run is a path without a file, from which no C library could be read."""
    of_file = module.libc_ver

    def libc_ver(
        executable: Any = None, lib: str = "", version: str = "", chunksize: int = 16384
    ) -> tuple[str, str]:
        if executable is None:
            return lib, version
        found: tuple[str, str] = of_file(executable, lib, version, chunksize)
        return found

    libc_ver.__doc__ = of_file.__doc__
    module.libc_ver = libc_ver


def amend_random(module: Any) -> None:
    """Seeds of floating-point numbers as on 64-bit Linux; choices from ranges of any length."""
    kind = module.Random
    seed, choice, choices, sample = kind.seed, kind.choice, kind.choices, kind.sample

    @functools.wraps(seed)
    def seed_widely(self: Any, a: Any = None, version: int = 2) -> None:
        if type(a) is float:
            first, self.gauss_next = hash_of_float(a), None
            seed(self, first & (1 << 64) - 1, version)
        else:
            seed(self, a, version)

    @functools.wraps(choice)
    def choose(self: Any, seq: Any) -> Any:
        if type(seq) is range and length(seq) > _LARGEST_SIZE:
            return seq[self._randbelow(length(seq))]
        return choice(self, seq)

    @functools.wraps(choices)
    def choose_some(
        self: Any, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1
    ) -> list[Any]:
        if type(population) is range and length(population) > _LARGEST_SIZE:
            if weights is None and cum_weights is None:
                count = length(population) + 0.0
                return [population[int(self.random() * count)] for _ in range(k)]
        return choices(self, population, weights, cum_weights=cum_weights, k=k)  # type: ignore

    @functools.wraps(sample)
    def take_sample(self: Any, population: Any, k: int, *, counts: Any = None) -> list[Any]:
        count = length(population) if type(population) is range else 0
        if counts is not None or not 0 <= k <= _LARGEST_SIZE < count:
            return sample(self, population, k, counts=counts)  # type: ignore[no-any-return]
        taken: dict[int, None] = {}
        for _ in range(k):
            index = self._randbelow(count)
            while index in taken:
                index = self._randbelow(count)
            taken[index] = None
        return [population[index] for index in taken]

    for name, function in (
        ("seed", seed_widely),
        ("choice", choose),
        ("choices", choose_some),
        ("sample", take_sample),
    ):
        setattr(kind, name, function)
        setattr(module, name, getattr(module._inst, name))


def hash_of_float(value: float) -> int:
    """Returns the hash of a number on a machine where hashes have 64 bits."""
    if value != value:
        return 0
    if value in (float("inf"), float("-inf")):
        return 314159 if value > 0 else -314159
    above, below = abs(value).as_integer_ratio()
    found = above * pow(below, -1, _PRIME) % _PRIME
    found = found if value >= 0 else -found
    return -2 if found == -1 else found


_SIGNALS = (
    "InvalidOperation FloatOperation DivisionByZero Overflow Underflow Subnormal Inexact Rounded "
    "Clamped"
).split()
"""Signals of decimal numbers, in the order in which contexts list them."""


_LARGEST_EXPONENT = 999_999_999_999_999_999
_SMALLEST_EXPONENT = -1_999_999_999_999_999_997
_FAR_EXPONENT = 1 << 58
"""No number with an exponent below this one has enough digits to leave the bounds."""

_BOUNDS_OF_CONTEXTS = {
    "prec": (1, _LARGEST_EXPONENT, "valid range for prec is [1, MAX_PREC]"),
    "Emin": (-_LARGEST_EXPONENT, 0, "valid range for Emin is [MIN_EMIN, 0]"),
    "Emax": (0, _LARGEST_EXPONENT, "valid range for Emax is [0, MAX_EMAX]"),
    "capitals": (0, 1, "valid values for capitals are 0 or 1"),
    "clamp": (0, 1, "valid values for clamp are 0 or 1"),
}


def amend_decimal(module: Any) -> None:
    """Limits, messages and the order of signals are those of the implementation in C."""
    written = sys.modules.get("_pydecimal")
    if written is None or module.Decimal is not written.Decimal:
        return  # this is the implementation in C
    if hasattr(module.Context._raise_error, "__wrapped__"):
        return  # amended when it was imported first
    numbers = {
        "MAX_PREC": _LARGEST_EXPONENT,
        "MAX_EMAX": _LARGEST_EXPONENT,
        "MIN_EMIN": -_LARGEST_EXPONENT,
        "MIN_ETINY": _SMALLEST_EXPONENT,
    }
    for changed in (module, written):
        for name, number in numbers.items():
            setattr(changed, name, number)
    written._signals.sort(key=lambda signal: _SIGNALS.index(signal.__name__))
    for context in (module.DefaultContext, module.BasicContext, module.ExtendedContext):
        for signals in (context.flags, context.traps):
            for signal in written._signals:
                signals[signal] = bool(signals.pop(signal))
    raise_error = module.Context._raise_error
    signal_of = written._condition_map

    @functools.wraps(raise_error)
    def raise_condition(self: Any, condition: Any, *args: Any) -> Any:
        try:
            return raise_error(self, condition, *args)
        except module.DecimalException as error:
            error.args = ([condition],)
            raise
        finally:
            signal = signal_of.get(condition, condition)
            if self.flags.get(signal):
                self.flags[signal] = True

    module.Context._raise_error = raise_condition
    _bound_decimals(module, written)


def _bound_decimals(module: Any, written: Any) -> None:
    """Numbers and contexts have no exponents beyond those of the implementation in C."""
    kind = module.Decimal
    make = kind.__new__

    @functools.wraps(make)
    def __new__(cls: Any, value: Any = "0", context: Any = None) -> Any:
        made = make(cls, value, context)
        if made._is_special or -_FAR_EXPONENT < made._exp < _FAR_EXPONENT:
            return made
        if isinstance(value, kind) or _is_within_bounds(made):
            return made
        if isinstance(value, (list, tuple)):
            _ensure_small(made._exp)
        if context is None:
            context = module.getcontext()
        context._raise_error(module.InvalidOperation)
        made._sign, made._int, made._exp, made._is_special = 0, "", "n", True
        return made

    @functools.wraps(module.Context.create_decimal)
    def create_decimal(self: Any, num: Any = "0") -> Any:
        if isinstance(num, str) and (num != num.strip() or "_" in num):
            return self._raise_error(written.ConversionSyntax)
        made = make(kind, num, self)  # the context may round numbers beyond the bounds
        if isinstance(num, (list, tuple)) and not made._is_special:
            _ensure_small(made._exp)
        if made._isnan() and len(made._int) > self.prec - self.clamp:
            return self._raise_error(written.ConversionSyntax)
        return made._fix(self)

    @functools.wraps(module.Context._set_integer_check)
    def _set_integer_check(self: Any, name: str, value: Any, *_: object) -> None:
        if not isinstance(value, int):
            raise TypeError("an integer is required")
        _ensure_small(value)
        least, most, explanation = _BOUNDS_OF_CONTEXTS[name]
        if not least <= value <= most:
            raise ValueError(explanation)
        object.__setattr__(self, name, value)

    kind.__new__ = __new__
    module.Context.create_decimal = create_decimal
    module.Context._set_integer_check = _set_integer_check


def _ensure_small(number: int) -> None:
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("Python int too large to convert to C ssize_t")


def _is_within_bounds(number: Any) -> bool:
    """True if a context with the widest bounds would leave the finite decimal as it is."""
    digits = len(number._int) - 1 if number._int != "0" else 0
    return bool(_SMALLEST_EXPONENT <= number._exp <= _LARGEST_EXPONENT - digits)


ask_hidden: Callable[[str], str | None] | None = None
"""Asks for a line that is not to be shown. It returns `None` where nobody can answer."""


def getpass(prompt: str = "Password: ", stream: Any = None, **options: Any) -> str:
    """The `getpass.getpass` of all programs: there is no terminal, but perhaps somebody who answers.

    Raises:
        EOFError: Nobody can answer, or there is no answer.
    """
    answer = ask_hidden(prompt) if ask_hidden is not None else None
    if answer is None:
        raise EOFError(
            "getpass(): nobody types here; pass the value in `args` and read it in `main(args)`"
        )
    return answer


getpass.__module__ = "getpass"


def amend_getpass(module: Any) -> None:
    """A password is not read from a terminal."""
    module.getpass = getpass


_DIRECTIVE = re.compile(r"%([-_0^#]*)(\d*)([EO]?)(.)", re.S)
_PLAIN = frozenset("aAbBcCdDeFgGhHIjmMnprRsStTuUVwWxXyYzZ%")
_NUMBERS = frozenset("CdegGHIjklmMsSuUVwWyY")
_SPACED = frozenset("ekl")
_MORE = frozenset("klP")


_OWN_FRAMES = 7
"""Frames of the runner below the code of a program."""


def amend_recursion_limit(module: Any) -> None:
    """The frames of the runner do not count: programs get all of the limit that they see."""
    get, put = module.getrecursionlimit, module.setrecursionlimit

    @functools.wraps(get)
    def getrecursionlimit() -> Any:
        return get() - _OWN_FRAMES

    @functools.wraps(put)
    def setrecursionlimit(limit: Any, /) -> None:
        is_usual = type(limit) is int and 0 < limit < _LARGEST_SIZE - _OWN_FRAMES
        put(limit + _OWN_FRAMES if is_usual else limit)

    module.getrecursionlimit, module.setrecursionlimit = getrecursionlimit, setrecursionlimit
    setrecursionlimit(1000)


def amend_time(module: Any) -> None:
    """Directives of `strftime` as of glibc, and the clock of the only thread."""
    strftime = module.strftime

    @functools.wraps(strftime)
    def glibc_strftime(format: Any, /, *when: Any) -> str:
        if type(format) is not str or "%" not in format:
            return strftime(format, *when)  # type: ignore[no-any-return]
        found: Any = when or (module.localtime(),)

        def part(match: re.Match[str]) -> str:
            flags, width, variant, letter = match.groups()
            if not flags and not width and letter in _PLAIN:
                return match[0]
            if letter == "%":
                return match[0]
            if letter not in _PLAIN and letter not in _MORE:
                return match[0].replace("%", "%%")
            return _shown(strftime, found, flags, int(width or 0), letter).replace("%", "%%")

        text: str = strftime(_DIRECTIVE.sub(part, format), *found)
        # The C library here writes a sign before years of five digits.
        year = found[0][0] if isinstance(found[0], tuple) else 0
        return text.replace(f"+{year}", str(year)) if year > 9999 else text

    module.strftime = glibc_strftime
    gmtime, struct_time = module.gmtime, module.struct_time

    @functools.wraps(gmtime)
    def in_gmt(*when: Any) -> Any:
        return struct_time(tuple(gmtime(*when)), {"tm_zone": "GMT", "tm_gmtoff": 0})

    module.gmtime = in_gmt
    if not hasattr(module, "thread_time"):
        module.thread_time, module.thread_time_ns = module.process_time, module.process_time_ns


def _shown(strftime: Any, when: Any, flags: str, width: int, letter: str) -> str:
    """Formats one directive with flags and a width like glibc."""
    width = min(width, 1000)
    if letter == "P":
        text = strftime("%p", *when).lower()
    else:
        text = strftime("%" + {"k": "H", "l": "I"}.get(letter, letter), *when)
    if "^" in flags:
        text = text.upper()
    elif "#" in flags:
        text = text.lower() if letter in "pZ" else text.upper()
    if letter not in _NUMBERS:
        return text.rjust(width, "0" if "0" in flags else " ")
    digits = text.strip().lstrip("0") or "0"
    if "-" in flags:
        return digits.rjust(width)
    space = "_" in flags or letter in _SPACED and "0" not in flags
    return digits.rjust(width or len(text), " " if space else "0")
