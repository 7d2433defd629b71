"""AES-GCM and HKDF for servers of the Model Context Protocol, in the place of the package `cryptography`.

The library `mcp` seals the state that a server gives to its client between two requests. In the sandbox both
are in one program, which has the key as well. So it does not matter here that the time of this code depends
on the key, and `cryptography` is lent to `mcp.server.request_state` alone.

AES-GCM is that of NIST SP 800-38D, HKDF that of RFC 5869.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any

from _wardian import ciphers

_BLOCK = 16
_TAG = 16
_USUAL_NONCE = 12
_REDUCTION = 0xE1 << 120
"""The polynomial of the field, whose lowest power is the highest bit."""

_PRIMITIVES = "cryptography.hazmat.primitives"


class InvalidTag(Exception):
    """The content was not sealed with this key, or it was changed."""


class SHA256:
    """Names the digest of HKDF."""


class HKDF:
    """Derives keys from a secret, with SHA-256."""

    def __init__(self, algorithm: SHA256, length: int, salt: bytes | None, info: bytes | None) -> None:
        if not 0 < length <= 255 * hashlib.sha256().digest_size:
            raise ValueError("Cannot derive keys larger than 8160 octets.")
        self._length, self._salt, self._info = length, salt or bytes(32), info or b""

    def derive(self, key_material: bytes) -> bytes:
        """The key that follows from a secret."""
        key = hmac.digest(self._salt, bytes(key_material), "sha256")
        found = block = b""
        for number in range(1, -(-self._length // len(key)) + 1):
            block = hmac.digest(key, block + self._info + bytes([number]), "sha256")
            found += block
        return found[: self._length]


class AESGCM:
    """Encrypts with AES in counter mode, and authenticates what it has encrypted and more."""

    def __init__(self, key: bytes) -> None:
        self._key = bytes(key)
        if len(self._key) not in (16, 24, 32):
            raise ValueError("AESGCM key must be 128, 192, or 256 bits.")
        self._product = int.from_bytes(self._block(bytes(_BLOCK)), "big")

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """The encrypted data with the tag behind them."""
        first = self._first_counter(nonce)
        sealed = self._counted(first, bytes(data))
        return sealed + self._tag(first, sealed, bytes(associated_data or b""))

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes:
        """The data without their tag.

        Raises:
            InvalidTag: They are not what was encrypted with this key, nonce and further data.
        """
        sealed, tag = bytes(data[:-_TAG]), bytes(data[-_TAG:])
        first = self._first_counter(nonce)
        if len(data) < _TAG or not hmac.compare_digest(tag, self._tag(first, sealed, bytes(associated_data or b""))):
            raise InvalidTag
        return self._counted(first, sealed)

    def _block(self, block: bytes) -> bytes:
        return ciphers.encrypt(self._key, bytes(_BLOCK), block)

    def _first_counter(self, nonce: bytes) -> int:
        if not 8 <= len(nonce) <= 128:
            raise ValueError("Nonce must be between 8 and 128 bytes")
        if len(nonce) == _USUAL_NONCE:
            return int.from_bytes(bytes(nonce) + b"\0\0\0\1", "big")
        return self._hashed(_padded(bytes(nonce)) + bytes(8) + (8 * len(nonce)).to_bytes(8, "big"))

    def _counted(self, counter: int, data: bytes) -> bytes:
        """The data, encrypted or decrypted, from the counter after this one: only its last 32 bits count."""
        fixed, number, stream = counter >> 32 << 32, counter & 0xFFFFFFFF, []
        for _ in range(0, len(data), _BLOCK):
            number = number + 1 & 0xFFFFFFFF
            stream.append(self._block((fixed | number).to_bytes(_BLOCK, "big")))
        key = int.from_bytes(b"".join(stream)[: len(data)], "big")
        return (int.from_bytes(data, "big") ^ key).to_bytes(len(data), "big")

    def _tag(self, first: int, sealed: bytes, more: bytes) -> bytes:
        lengths = (8 * len(more)).to_bytes(8, "big") + (8 * len(sealed)).to_bytes(8, "big")
        digest = self._hashed(_padded(more) + _padded(sealed) + lengths)
        mask = int.from_bytes(self._block(first.to_bytes(_BLOCK, "big")), "big")
        return (digest ^ mask).to_bytes(_TAG, "big")

    def _hashed(self, content: bytes) -> int:
        """GHASH of whole blocks."""
        digest = 0
        for at in range(0, len(content), _BLOCK):
            digest = _times(digest ^ int.from_bytes(content[at : at + _BLOCK], "big"), self._product)
        return digest


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % _BLOCK)


def _times(left: int, right: int) -> int:
    """The product of two blocks in the field of GCM."""
    product = 0
    for bit in range(127, -1, -1):
        if left >> bit & 1:
            product ^= right
        right = right >> 1 ^ (_REDUCTION if right & 1 else 0)
    return product


def _filling(**names: Any) -> Callable[[dict[str, Any]], None]:
    return lambda namespace: namespace.update(names)


OF_MCP: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "cryptography.exceptions": _filling(InvalidTag=InvalidTag),
    f"{_PRIMITIVES}.ciphers.aead": _filling(AESGCM=AESGCM),
    f"{_PRIMITIVES}.hashes": _filling(SHA256=SHA256),
    f"{_PRIMITIVES}.kdf.hkdf": _filling(HKDF=HKDF),
}
"""What `mcp.server.request_state` finds while it is loaded."""
