"""`hashlib.pbkdf2_hmac` and `hashlib.scrypt`, which the standard library takes from OpenSSL."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

_MEMORY_MAX = 32 << 20  # what OpenSSL allows unless `maxmem` says otherwise


def _bytes(value: Any, name: str) -> bytes:
    if isinstance(value, str):
        raise TypeError(f"{name}: a bytes-like object is required, not 'str'")
    return bytes(memoryview(value))


def pbkdf2_hmac(
    hash_name: str, password: Any, salt: Any, iterations: int, dklen: int | None = None
) -> bytes:
    """Derives a key from a password: PKCS#5, RFC 8018."""
    if not isinstance(hash_name, str):
        raise TypeError(f"pbkdf2_hmac() argument 'hash_name' must be str, not {hash_name!r}")
    password, salt = _bytes(password, "password"), _bytes(salt, "salt")
    try:
        block_size = hashlib.new(hash_name).block_size
    except ValueError:
        raise ValueError(f"unsupported hash type {hash_name}") from None
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    size = hashlib.new(hash_name).digest_size
    if dklen is None:
        dklen = size
    if dklen < 1:
        raise ValueError("key length must be greater than 0.")
    if len(password) > block_size:
        password = hashlib.new(hash_name, password).digest()
    padded = password.ljust(block_size, b"\0")
    inner = hashlib.new(hash_name, padded.translate(bytes(x ^ 0x36 for x in range(256))))
    outer = hashlib.new(hash_name, padded.translate(bytes(x ^ 0x5C for x in range(256))))
    copy_inner, copy_outer = inner.copy, outer.copy

    def authenticated(message: bytes) -> bytes:
        first = copy_inner()
        first.update(message)
        second = copy_outer()
        second.update(first.digest())
        return second.digest()

    key = b""
    for block in range(1, -(-dklen // size) + 1):
        latest = authenticated(salt + struct.pack(">I", block))
        mixed = int.from_bytes(latest, "big")
        for _ in range(iterations - 1):
            latest = authenticated(latest)
            mixed ^= int.from_bytes(latest, "big")
        key += mixed.to_bytes(size, "big")
    return key[:dklen]


def scrypt(
    password: Any, *, salt: Any, n: int, r: int, p: int, maxmem: int = 0, dklen: int = 64
) -> bytes:
    """Derives a key from a password with much memory: RFC 7914."""
    password, salt = _bytes(password, "password"), _bytes(salt, "salt")
    if n < 2 or n & (n - 1):
        raise ValueError("n must be a power of 2.")
    if r < 1 or p < 1 or dklen < 1 or maxmem < 0:
        raise ValueError("r, p and dklen must be positive")
    if 128 * r * (n + p + 2) > (maxmem or _MEMORY_MAX):
        raise ValueError("Invalid parameter combination for n, r, p, maxmem.")
    mixed = pbkdf2_hmac("sha256", password, salt, 1, p * 128 * r)
    blocks = [_mix(mixed[i * 128 * r : (i + 1) * 128 * r], n, r) for i in range(p)]
    return pbkdf2_hmac("sha256", password, b"".join(blocks), 1, dklen)


def _mix(block: bytes, n: int, r: int) -> bytes:
    """The function `scryptROMix`."""
    words = struct.Struct(f"<{32 * r}I")
    x = words.unpack(block)
    kept = []
    for _ in range(n):
        kept.append(words.pack(*x))
        x = _mix_block(x, r)
    for _ in range(n):
        chosen = words.unpack(kept[x[(2 * r - 1) * 16] & (n - 1)])
        x = _mix_block([a ^ b for a, b in zip(x, chosen, strict=True)], r)
    return words.pack(*x)


def _mix_block(block: Any, r: int) -> list[int]:
    """The function `scryptBlockMix`."""
    x = block[-16:]
    even: list[int] = []
    odd: list[int] = []
    for i in range(2 * r):
        x = _salsa([a ^ b for a, b in zip(x, block[i * 16 : i * 16 + 16], strict=True)])
        (odd if i & 1 else even).extend(x)
    return even + odd


def _quarter(a: str, b: str, c: str, d: str) -> str:
    lines = []
    for target, one, two, by in ((b, a, d, 7), (c, b, a, 9), (d, c, b, 13), (a, d, c, 18)):
        lines.append(f"t = ({one} + {two}) & 0xFFFFFFFF")
        lines.append(f"{target} ^= (t << {by} | t >> {32 - by}) & 0xFFFFFFFF")
    return "\n        ".join(lines)


_COLUMNS = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
_ROWS = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))


def _make_salsa() -> Any:
    """Generates Salsa20/8 with one variable for each word, which halves the time of a loop."""
    names = [f"x{i}" for i in range(16)]
    rounds = "\n        ".join(_quarter(*(names[i] for i in q)) for q in (*_COLUMNS, *_ROWS))
    sums = ", ".join(f"({name} + words[{i}]) & 0xFFFFFFFF" for i, name in enumerate(names))
    source = (
        f"def salsa(words):\n    {', '.join(names)} = words\n"
        f"    for _ in range(4):\n        {rounds}\n    return [{sums}]\n"
    )
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["salsa"]


_salsa = _make_salsa()


def install() -> None:
    """Gives `hashlib` the two functions."""
    for function in (pbkdf2_hmac, scrypt):
        function.__module__ = "hashlib"
        setattr(hashlib, function.__name__, function)
        if function.__name__ not in hashlib.__all__:
            hashlib.__all__ = (*hashlib.__all__, function.__name__)  # type: ignore[assignment]
