"""The package `blake3` without its native code: the same digests, computed in Python.

Written after the specification of BLAKE3 (O'Connor, Aumasson, Neves and Wilcox-O'Hearn, 2020). Many
chunks are hashed at once with NumPy, whose arrays of `uint32` go through the same code as numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

_START = (
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
)  # fmt: skip
"""The chaining value of an unkeyed hash: that of SHA-256."""

_PERMUTATION = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
_MIXED = (
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
)  # fmt: skip
"""The words of the state that a round mixes: its columns, then its diagonals."""

_CHUNK_START, _CHUNK_END, _PARENT, _ROOT, _KEYED, _CONTEXT, _MATERIAL = (1 << bit for bit in range(7))
_CHUNK, _BLOCK = 1024, 64
_MASK = 0xFFFFFFFF

_AT_ONCE = 1024
"""Most chunks that are hashed at once. A power of two."""

_FEW = 8
"""Below this many chunks NumPy's calls cost more than they save."""

Words = Sequence[Any]
"""Words of 32 bits, each a number or an array with one number for each chunk."""


def fill_module(namespace: dict[str, Any]) -> None:
    """Fills the module `blake3`."""
    namespace["__doc__"] = "BLAKE3 in Python, without the native code of the package."
    namespace["__version__"] = "1.0.11"
    namespace["blake3"] = blake3
    namespace["__all__"] = ["blake3", "__version__"]


def _compress(chain: Words, block: Words, counter: Any, length: int, flags: int) -> list[Any]:
    """Returns the state after seven rounds, with both halves combined: the words of an output block."""
    state = [*chain, *_START[:4], counter & _MASK, counter >> 32 & _MASK, length, flags]
    words = list(block)
    for turn in range(7):
        for index, (a, b, c, d) in enumerate(_MIXED):
            va, vb, vc, vd = state[a], state[b], state[c], state[d]
            va = va + vb + words[2 * index] & _MASK
            vd = vd ^ va
            vd = vd >> 16 | vd << 16 & _MASK
            vc = vc + vd & _MASK
            vb = vb ^ vc
            vb = vb >> 12 | vb << 20 & _MASK
            va = va + vb + words[2 * index + 1] & _MASK
            vd = vd ^ va
            vd = vd >> 8 | vd << 24 & _MASK
            vc = vc + vd & _MASK
            vb = vb ^ vc
            state[a], state[b], state[c], state[d] = va, vb >> 7 | vb << 25 & _MASK, vc, vd
        if turn < 6:
            words = [words[index] for index in _PERMUTATION]
    low, high = state[:8], state[8:]
    return [a ^ b for a, b in zip(low, high, strict=True)] + [
        a ^ b for a, b in zip(high, chain, strict=True)
    ]


def _words(data: bytes) -> list[int]:
    """The words of a block, filled up with zeros."""
    data = data.ljust(_BLOCK, b"\0")
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, _BLOCK, 4)]


class _Output:
    """The last compression of a chunk or a parent, which the root does with another flag."""

    __slots__ = ("_block", "_chain", "_counter", "_flags", "_length")

    def __init__(self, chain: Words, block: Words, counter: int, length: int, flags: int) -> None:
        self._chain, self._block, self._counter = chain, block, counter
        self._length, self._flags = length, flags

    def chaining_value(self) -> list[Any]:
        """What the parent is made of."""
        return _compress(self._chain, self._block, self._counter, self._length, self._flags)[:8]

    def bytes_of_root(self, length: int, seek: int) -> bytes:
        """`length` bytes of the output from byte `seek`."""
        first, skipped = divmod(seek, _BLOCK)
        found = bytearray()
        for number in range(first, -(-(seek + length) // _BLOCK)):
            words = _compress(self._chain, self._block, number, self._length, self._flags | _ROOT)
            for word in words:
                found += word.to_bytes(4, "little")
        return bytes(found[skipped : skipped + length])


def _chunk(data: bytes, counter: int, key: Words, flags: int) -> _Output:
    """The output of one chunk."""
    chain, flag = key, flags | _CHUNK_START
    last = max(0, len(data) - 1) // _BLOCK * _BLOCK
    for at in range(0, last, _BLOCK):
        chain = _compress(chain, _words(data[at : at + _BLOCK]), counter, _BLOCK, flag)[:8]
        flag = flags
    return _Output(chain, _words(data[last:]), counter, len(data) - last, flag | _CHUNK_END)


def _parent(left: Words, right: Words, key: Words, flags: int) -> _Output:
    return _Output(key, [*left, *right], 0, _BLOCK, flags | _PARENT)


def _subtree(data: bytes, counter: int, key: Words, flags: int) -> list[int]:
    """The chaining value of whole chunks, whose number is a power of two."""
    count = len(data) // _CHUNK
    if count < _FEW:
        if count == 1:
            return _chunk(data, counter, key, flags).chaining_value()
        half = len(data) // 2
        left = _subtree(data[:half], counter, key, flags)
        right = _subtree(data[half:], counter + count // 2, key, flags)
        return _parent(left, right, key, flags).chaining_value()
    import numpy as np

    words = np.frombuffer(data, "<u4").reshape(count, 16, 16)
    counters = np.arange(counter, counter + count, dtype=np.uint64)
    low, high = (counters & _MASK).astype(np.uint32), (counters >> 32).astype(np.uint32)
    chain: Words = [np.full(count, word, np.uint32) for word in key]
    for index in range(16):
        flag = flags | _CHUNK_START * (index == 0) | _CHUNK_END * (index == 15)
        block = [words[:, index, word] for word in range(16)]
        chain = _compress(chain, block, _Counters(low, high), _BLOCK, flag)[:8]
    while len(chain[0]) > 1:
        key_words = [np.full(len(chain[0]) // 2, word, np.uint32) for word in key]
        block = [word[::2] for word in chain] + [word[1::2] for word in chain]
        chain = _compress(key_words, block, 0, _BLOCK, flags | _PARENT)[:8]
    return [int(word[0]) for word in chain]


class _Counters:
    """The numbers of many chunks as two arrays, split as `_compress` splits a number."""

    def __init__(self, low: Any, high: Any) -> None:
        self._low, self._high = low, high

    def __and__(self, mask: int) -> Any:
        return self._low

    def __rshift__(self, bits: int) -> Any:
        return _Counters(self._high, self._high)


def _bytes_of(data: Any) -> bytes:
    """The bytes of a buffer, refused as the package refuses others."""
    try:
        view = memoryview(data)
    except TypeError:
        name = type(data).__name__
        raise TypeError(f"a bytes-like object is required, not '{name}'") from None
    if view.format not in ("B", "b", "c"):
        raise BufferError("buffer contents are not compatible with u8")
    if not view.c_contiguous:
        raise BufferError("buffer is not contiguous")
    return bytes(view)


def _size(number: Any) -> int:
    """A number of 64 bits."""
    found = operator.index(number)
    if found < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if found >= 1 << 64:
        raise OverflowError("int too big to convert")
    return found


class blake3:  # noqa: N801 - the name of the package's class
    """An incremental BLAKE3 hasher, as that of the package `blake3`."""

    __slots__ = ("_count", "_flags", "_key", "_rest", "_stack")

    AUTO = -1
    """As `max_threads`: as many threads as there are processors."""

    def __new__(
        cls,
        data: Any = None,
        /,
        *,
        key: Any = None,
        derive_key_context: str | None = None,
        max_threads: int = 1,
        usedforsecurity: bool = True,
    ) -> blake3:
        """A hasher that has taken `data`.

        Raises:
            ValueError: The key is not of 32 bytes, or there is a context as well.
        """
        self = super().__new__(cls)
        words: Words = _START
        self._flags = 0
        if operator.index(max_threads) < 1 and max_threads != cls.AUTO:
            raise ValueError("not a valid number of threads")
        if key is not None:
            key = _bytes_of(key)
            if len(key) != 32:
                raise ValueError(f"expected a 32-byte key, found {len(key)}")
            if derive_key_context is not None:
                raise ValueError("cannot use key and derive_key_context at the same time")
            words, self._flags = _words(key)[:8], _KEYED
        elif derive_key_context is not None:
            if not isinstance(derive_key_context, str):
                name = type(derive_key_context).__name__
                raise TypeError(f"'{name}' object is not an instance of 'str'")
            context = super().__new__(cls)
            context._key, context._flags = _START, _CONTEXT
            context.reset()
            context.update(derive_key_context.encode())
            words, self._flags = _words(context.digest())[:8], _MATERIAL
        self._key = words
        self.reset()
        if data is not None:
            self.update(data)
        return self

    def __init_subclass__(cls, **named: Any) -> None:
        """Refuses subclasses, as the package does."""
        raise TypeError("type 'blake3.blake3.blake3' is not an acceptable base type")

    def __reduce__(self) -> Any:
        """Refuses copies of other kinds, as the package does."""
        raise TypeError("cannot pickle 'blake3.blake3.blake3' object")

    name = property(lambda self: "blake3")
    digest_size = property(lambda self: 32)
    block_size = property(lambda self: 64)
    key_size = property(lambda self: 32)

    def reset(self) -> None:
        """Forgets the data, and keeps the key."""
        self._stack: list[tuple[int, list[int]]] = []  # the chunks of each subtree, and its value
        self._rest = b""
        self._count = 0

    def copy(self) -> blake3:
        """Returns a hasher that goes on from here."""
        other = object.__new__(blake3)
        other._key, other._flags, other._rest = self._key, self._flags, self._rest
        other._stack, other._count = list(self._stack), self._count
        return other

    def update(self, data: Any, /) -> blake3:
        """Takes more data."""
        rest = self._rest + _bytes_of(data)
        at = 0
        # The last chunk waits for more: the root is finished in another way.
        while len(rest) - at > _CHUNK:
            whole = (len(rest) - at - 1) // _CHUNK
            size = min(_AT_ONCE, 1 << whole.bit_length() - 1)
            while self._count % size:
                size >>= 1
            part = rest[at : at + size * _CHUNK]
            self._push(size, _subtree(part, self._count, self._key, self._flags))
            at += size * _CHUNK
            self._count += size
        self._rest = rest[at:]
        return self

    def _push(self, size: int, value: list[int]) -> None:
        """Adds a subtree, and joins those of one size."""
        while self._stack and self._stack[-1][0] == size:
            value = _parent(self._stack.pop()[1], value, self._key, self._flags).chaining_value()
            size *= 2
        self._stack.append((size, value))

    def update_mmap(self, path: Any) -> blake3:
        """Takes the content of a file."""
        with open(path, "rb") as file:
            while part := file.read(_AT_ONCE * _CHUNK):
                self.update(part)
        return self

    def digest(self, length: int = 32, *, seek: int = 0) -> bytes:
        """Returns `length` bytes of the output, from byte `seek`."""
        length, seek = _size(length), _size(seek)
        output = _chunk(self._rest, self._count, self._key, self._flags)
        for _size_of, value in reversed(self._stack):
            output = _parent(value, output.chaining_value(), self._key, self._flags)
        return output.bytes_of_root(length, seek)

    def hexdigest(self, length: int = 32, *, seek: int = 0) -> str:
        """Returns `digest(length, seek=seek)` in hexadecimal."""
        return self.digest(length, seek=seek).hex()


blake3.__module__ = "blake3.blake3"
