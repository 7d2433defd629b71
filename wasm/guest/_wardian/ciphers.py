"""AES and RC4 for the readers and writers of PDF files, in the place of the package `cryptography`.

Encrypted PDF files are read with a password, and many need none. What is kept secret from whom is
settled before: the program has the file and the password. So it does not matter here that the time of
this code depends on the key, which would be a flaw elsewhere. That is why programs do not find
`cryptography`, and these modules are lent to `pdfminer.pdfdocument` and to the provider of pypdf alone.

Blocks are decrypted side by side in arrays of NumPy. To encrypt, each block needs the one before it;
that takes some 20,000 blocks for each password of a file of revision 6, a second or two, and as long for
each 300 KB that are written.
"""

from __future__ import annotations

import functools
import struct
import types
from collections.abc import Callable, Mapping
from typing import Any

_BLOCK = 16
_SIDE_BY_SIDE = 1 << 14
"""Blocks that are decrypted at once, which bounds the memory of their arrays."""


def _times(left: int, right: int) -> int:
    """The product of two bytes in the field of AES."""
    product = 0
    while right:
        if right & 1:
            product ^= left
        left = left << 1 ^ (0x11B if left & 0x80 else 0)
        right >>= 1
    return product


@functools.cache
def _substitutes() -> bytes:
    """The table of SubBytes: the inverse of each byte, and an affine map."""
    powers = [1]
    for _ in range(254):
        powers.append(_times(powers[-1], 3))
    table = bytearray(256)
    for exponent, value in enumerate(powers):
        inverse = powers[-exponent % 255]
        mapped = 0x63
        for turn in range(5):
            mapped ^= (inverse << turn | inverse >> 8 - turn) & 0xFF
        table[value] = mapped
    table[0] = 0x63
    return bytes(table)


def _round_keys(key: bytes) -> list[bytes]:
    """The keys of the rounds, 16 bytes each."""
    substitutes, size = _substitutes(), len(key) // 4
    words = [key[at : at + 4] for at in range(0, len(key), 4)]
    constant = 1
    for at in range(size, 4 * (size + 7)):
        word = words[-1]
        if at % size == 0:
            turned = bytes(substitutes[byte] for byte in word[1:] + word[:1])
            word = bytes((turned[0] ^ constant, *turned[1:]))
            constant = _times(constant, 2)
        elif size > 6 and at % size == 4:
            word = bytes(substitutes[byte] for byte in word)
        words.append(bytes(a ^ b for a, b in zip(words[at - size], word, strict=True)))
    return [b"".join(words[at : at + 4]) for at in range(0, len(words), 4)]


# Decryption


@functools.cache
def _inverse_tables() -> tuple[Any, Any, Any]:
    """The inverse of SubBytes, that of ShiftRows, and the products of InvMixColumns."""
    import numpy

    substitutes = numpy.frombuffer(_substitutes(), numpy.uint8)
    inverse = numpy.zeros(256, numpy.uint8)
    inverse[substitutes] = numpy.arange(256, dtype=numpy.uint8)
    order = numpy.array([(column - row) % 4 * 4 + row for column in range(4) for row in range(4)])
    products = numpy.array(
        [[_times(value, factor) for value in range(256)] for factor in (14, 11, 13, 9)], numpy.uint8
    )
    return inverse, order, products


def decrypt(key: bytes, vector: bytes, data: bytes) -> bytes:
    """Decrypts whole blocks; a rest that is shorter than a block is left out.

    Raises:
        ValueError: The key or the vector has another length than AES allows.
    """
    _check(key, vector)
    keys = _round_keys(key)
    data = data[: len(data) // _BLOCK * _BLOCK]
    size, before, found = _SIDE_BY_SIDE * _BLOCK, vector, []
    for begin in range(0, len(data), size):
        part = data[begin : begin + size]
        found.append(_decrypted(keys, before, part))
        before = part[-_BLOCK:]
    return b"".join(found)


def _decrypted(keys: list[bytes], before: bytes, data: bytes) -> bytes:
    import numpy

    inverse, order, products = _inverse_tables()
    rounds = [numpy.frombuffer(key, numpy.uint8) for key in keys]
    state = numpy.frombuffer(data, numpy.uint8).reshape(-1, _BLOCK) ^ rounds[-1]
    for number in range(len(rounds) - 2, -1, -1):
        state = inverse[state[:, order]] ^ rounds[number]
        if number:
            columns = state.reshape(-1, 4, 4)
            mixed = products[0][columns]
            for turn in range(1, 4):
                mixed ^= products[turn][numpy.roll(columns, -turn, axis=2)]
            state = mixed.reshape(-1, _BLOCK)
    chained = numpy.frombuffer(before + data[:-_BLOCK], numpy.uint8).reshape(-1, _BLOCK)
    return (state ^ chained).tobytes()


# Encryption


@functools.cache
def _forward_tables() -> list[list[int]]:
    """SubBytes and MixColumns of one byte as a column, for each of its four rows."""
    first = [
        _times(value, 2) << 24 | value << 16 | value << 8 | _times(value, 3)
        for value in _substitutes()
    ]
    turned = [(column >> 8 | column << 24) & 0xFFFFFFFF for column in first]
    tables = [first, turned]
    for _ in range(2):
        tables.append([(column >> 8 | column << 24) & 0xFFFFFFFF for column in tables[-1]])
    return tables


def encrypt(key: bytes, vector: bytes, data: bytes) -> bytes:
    """Encrypts whole blocks.

    Raises:
        ValueError: The key or the vector has another length than AES allows, or the data are no whole
            number of blocks.
    """
    _check(key, vector)
    if len(data) % _BLOCK:
        raise ValueError("The length of the provided data is not a multiple of the block length.")
    zero, one, two, three = _forward_tables()
    first, *middle, last = (struct.unpack(">4I", part) for part in _round_keys(key))
    table, words, found = _substitutes(), struct.unpack(f">{len(data) // 4}I", data), []
    a, b, c, d = struct.unpack(">4I", vector)
    for at in range(0, len(words), 4):
        a ^= words[at] ^ first[0]
        b ^= words[at + 1] ^ first[1]
        c ^= words[at + 2] ^ first[2]
        d ^= words[at + 3] ^ first[3]
        for k, m, n, o in middle:
            a, b, c, d = (
                zero[a >> 24] ^ one[b >> 16 & 255] ^ two[c >> 8 & 255] ^ three[d & 255] ^ k,
                zero[b >> 24] ^ one[c >> 16 & 255] ^ two[d >> 8 & 255] ^ three[a & 255] ^ m,
                zero[c >> 24] ^ one[d >> 16 & 255] ^ two[a >> 8 & 255] ^ three[b & 255] ^ n,
                zero[d >> 24] ^ one[a >> 16 & 255] ^ two[b >> 8 & 255] ^ three[c & 255] ^ o,
            )
        a, b, c, d = (
            (table[p >> 24] << 24 | table[q >> 16 & 255] << 16 | table[r >> 8 & 255] << 8 | table[s & 255]) ^ k
            for p, q, r, s, k in zip((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c), last, strict=True)
        )
        found += (a, b, c, d)
    return struct.pack(f">{len(found)}I", *found)


def _check(key: bytes, vector: bytes) -> None:
    if len(key) not in (16, 24, 32):
        raise ValueError(f"Invalid key size ({len(key) * 8}) for AES.")
    if len(vector) != _BLOCK:
        raise ValueError(f"Invalid IV size ({len(vector)}) for CBC.")


def _mixed(key: bytes, data: bytes) -> bytes:
    """Encrypts or decrypts with RC4, which is the same."""
    state, size = list(range(256)), len(key)
    second = 0
    for first in range(256):
        held = state[first]
        second = second + held + key[first % size] & 255
        state[first], state[second] = state[second], held
    second, stream = 0, bytearray(len(data))
    for at in range(len(data)):
        first = at + 1 & 255
        held = state[first]
        second = second + held & 255
        other = state[second]
        state[first], state[second] = other, held
        stream[at] = state[held + other & 255]
    return (int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")).to_bytes(len(data), "little")


# The interface of `cryptography`, as far as pdfminer and pypdf use it


class _Aes:
    name = "AES"

    def __init__(self, key: bytes) -> None:
        self.key = bytes(key)
        if len(self.key) not in (16, 24, 32):
            raise ValueError(f"Invalid key size ({len(self.key) * 8}) for AES.")


class _Rc4:
    name = "RC4"

    def __init__(self, key: bytes) -> None:
        self.key = bytes(key)
        if len(self.key) not in (5, 7, 8, 10, 16, 20, 24, 32):
            raise ValueError(f"Invalid key size ({len(self.key) * 8}) for RC4.")


class _Cbc:
    def __init__(self, initialization_vector: bytes) -> None:
        self.vector = bytes(initialization_vector)


class _Ecb:
    pass


class _Blocks:
    """Encrypts or decrypts with AES. The blocks of CBC depend on those before them."""

    def __init__(self, key: bytes, vector: bytes | None, is_encryption: bool) -> None:
        self._key, self._vector, self._is_encryption = key, vector, is_encryption
        self._rest = b""

    def update(self, data: bytes) -> bytes:
        data = self._rest + data
        end = len(data) // _BLOCK * _BLOCK
        self._rest, whole = data[end:], data[:end]
        if not whole:
            return b""
        work = encrypt if self._is_encryption else decrypt
        if self._vector is None:
            blocks = (whole[at : at + _BLOCK] for at in range(0, end, _BLOCK))
            return b"".join(work(self._key, bytes(_BLOCK), block) for block in blocks)
        found = work(self._key, self._vector, whole)
        self._vector = (found if self._is_encryption else whole)[-_BLOCK:]
        return found

    def finalize(self) -> bytes:
        if self._rest:
            raise ValueError("The length of the provided data is not a multiple of the block length.")
        return b""


class _Stream:
    """Encrypts or decrypts with RC4, at the end."""

    def __init__(self, key: bytes) -> None:
        self._key, self._data = key, b""

    def update(self, data: bytes) -> bytes:
        self._data += data
        return b""

    def finalize(self) -> bytes:
        return _mixed(self._key, self._data)


class _Cipher:
    def __init__(self, algorithm: Any, mode: Any, backend: object = None) -> None:
        if isinstance(mode, _Cbc):
            _check(algorithm.key, mode.vector)
        self._algorithm, self._mode = algorithm, mode

    def _begun(self, is_encryption: bool) -> Any:
        if isinstance(self._algorithm, _Rc4):
            return _Stream(self._algorithm.key)
        return _Blocks(self._algorithm.key, getattr(self._mode, "vector", None), is_encryption)

    def encryptor(self) -> Any:
        return self._begun(True)

    def decryptor(self) -> Any:
        return self._begun(False)


class _Padding:
    """Fills the last block with the number of the bytes that are added, or takes them away."""

    def __init__(self, is_removed: bool) -> None:
        self._is_removed, self._data = is_removed, b""

    def update(self, data: bytes) -> bytes:
        self._data += data
        return b""

    def finalize(self) -> bytes:
        data = self._data
        if not self._is_removed:
            count = _BLOCK - len(data) % _BLOCK
            return data + bytes([count]) * count
        count = data[-1] if data and len(data) % _BLOCK == 0 else 0
        if not 0 < count <= _BLOCK or data[-count:] != bytes([count]) * count:
            raise ValueError("Invalid padding bytes.")
        return data[:-count]


class _Pkcs7:
    def __init__(self, block_size: int) -> None:
        if block_size != 8 * _BLOCK:
            raise ValueError("block_size must be 128 here.")

    def padder(self) -> _Padding:
        return _Padding(False)

    def unpadder(self) -> _Padding:
        return _Padding(True)


def fill_backends(namespace: dict[str, Any]) -> None:
    """Fills `cryptography.hazmat.backends`."""
    namespace["default_backend"] = lambda: None


def fill_ciphers(namespace: dict[str, Any]) -> None:
    """Fills `cryptography.hazmat.primitives.ciphers`."""
    namespace["Cipher"] = _Cipher
    namespace["algorithms"] = types.SimpleNamespace(AES=_Aes)
    namespace["modes"] = types.SimpleNamespace(CBC=_Cbc)


def _filling(**names: Any) -> Callable[[dict[str, Any]], None]:
    return lambda namespace: namespace.update(names)


_PRIMITIVES = "cryptography.hazmat.primitives"

OF_PYPDF: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "cryptography": _filling(__version__="0+wardian"),
    "cryptography.exceptions": _filling(UnsupportedAlgorithm=type("UnsupportedAlgorithm", (Exception,), {})),
    f"{_PRIMITIVES}.ciphers.algorithms": _filling(AES=_Aes),
    f"{_PRIMITIVES}.ciphers.base": _filling(Cipher=_Cipher),
    f"{_PRIMITIVES}.ciphers.modes": _filling(CBC=_Cbc, ECB=_Ecb),
    f"{_PRIMITIVES}.padding": _filling(PKCS7=_Pkcs7),
    "cryptography.hazmat.decrepit.ciphers.algorithms": _filling(ARC4=_Rc4),
}
"""The modules that the provider of pypdf imports, with what fills them."""
