"""AES as PDFs use it, for reading documents that are encrypted with it (FIPS 197, CBC and ECB).

pypdf leaves AES to packages that are not there in the sandbox. Most encrypted PDFs open without a
password, so that without AES they would be closed only here. Decryption, the bulk of the work, is
done by numpy on all blocks at once; encryption serves the hash of PDF 2.0 passwords alone.

Not for keeping secrets: nothing here hides its timing.
"""

import numpy as np
import pypdf._encryption
from pypdf._crypt_providers import crypt_provider

BLOCK = 16
BLOCKS_AT_ONCE = 1 << 14


def _double(value):
    value <<= 1
    return value ^ 0x11B if value & 0x100 else value


def _multiply(a, b):
    product = 0
    while b:
        if b & 1:
            product ^= a
        a, b = _double(a), b >> 1
    return product


def _substitutions():
    """Returns the S-box: the inverse in the field, then an affine map."""
    power, powers = 1, []
    for _ in range(255):
        powers.append(power)
        power ^= _double(power)
    logs = {value: index for index, value in enumerate(powers)}
    box = bytearray(256)
    for value in range(256):
        x = powers[-logs[value] % 255] if value else 0
        turned = x * 0x101
        box[value] = (x ^ turned >> 4 ^ turned >> 5 ^ turned >> 6 ^ turned >> 7 ^ 0x63) & 0xFF
    return bytes(box)


SUBSTITUTE = _substitutions()

# One column of a round's MixColumns for each value of SubBytes, for the row 0 to 3.
MIX = [
    [int.from_bytes(bytes(_multiply(s, c) for c in coefficients)) for s in SUBSTITUTE]
    for coefficients in ((2, 1, 1, 3), (3, 2, 1, 1), (1, 3, 2, 1), (1, 1, 3, 2))
]

UNSUBSTITUTE = np.argsort(np.frombuffer(SUBSTITUTE, dtype=np.uint8)).astype(np.uint8)
UNSHIFT = np.array([0, 13, 10, 7, 4, 1, 14, 11, 8, 5, 2, 15, 12, 9, 6, 3])
UNMIX = {
    c: np.array([_multiply(value, c) for value in range(256)], dtype=np.uint8)
    for c in (9, 11, 13, 14)
}


class Aes:
    """The cipher under one key of 16, 24 or 32 bytes."""

    def __init__(self, key):
        words = [int.from_bytes(key[i : i + 4]) for i in range(0, len(key), 4)]
        size, constant = len(words), 1
        self._rounds = size + 6
        while len(words) < 4 * (self._rounds + 1):
            word = words[-1]
            if len(words) % size == 0:
                word = _substitute_word((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
                constant = _double(constant)
            elif size > 6 and len(words) % size == 4:
                word = _substitute_word(word)
            words.append(words[-size] ^ word)
        self._words = words

    def encrypt_block(self, block):
        """Returns 16 bytes encrypted."""
        words = self._words
        mix0, mix1, mix2, mix3 = MIX
        value = int.from_bytes(block)
        a = value >> 96 ^ words[0]
        b = (value >> 64 & 0xFFFFFFFF) ^ words[1]
        c = (value >> 32 & 0xFFFFFFFF) ^ words[2]
        d = (value & 0xFFFFFFFF) ^ words[3]
        for i in range(4, 4 * self._rounds, 4):
            a, b, c, d = (
                mix0[a >> 24] ^ mix1[b >> 16 & 255] ^ mix2[c >> 8 & 255] ^ mix3[d & 255] ^ words[i],
                mix0[b >> 24]
                ^ mix1[c >> 16 & 255]
                ^ mix2[d >> 8 & 255]
                ^ mix3[a & 255]
                ^ words[i + 1],
                mix0[c >> 24]
                ^ mix1[d >> 16 & 255]
                ^ mix2[a >> 8 & 255]
                ^ mix3[b & 255]
                ^ words[i + 2],
                mix0[d >> 24]
                ^ mix1[a >> 16 & 255]
                ^ mix2[b >> 8 & 255]
                ^ mix3[c & 255]
                ^ words[i + 3],
            )
        box = SUBSTITUTE
        last = b"".join(
            bytes((box[p >> 24], box[q >> 16 & 255], box[r >> 8 & 255], box[s & 255]))
            for p, q, r, s in ((a, b, c, d), (b, c, d, a), (c, d, a, b), (d, a, b, c))
        )
        return (int.from_bytes(last) ^ int.from_bytes(self._round_key(-4))).to_bytes(BLOCK)

    def decrypt_blocks(self, data):
        """Returns whole blocks decrypted, each for itself."""
        parts = [
            self._decrypt_part(data[i : i + BLOCK * BLOCKS_AT_ONCE])
            for i in range(0, len(data), BLOCK * BLOCKS_AT_ONCE)
        ]
        return b"".join(parts)

    def _decrypt_part(self, data):
        keys = [
            np.frombuffer(self._round_key(4 * number), dtype=np.uint8)
            for number in range(self._rounds + 1)
        ]
        state = np.frombuffer(data, dtype=np.uint8).reshape(-1, BLOCK) ^ keys[-1]
        for key in keys[-2:0:-1]:
            state = _unmix(UNSUBSTITUTE[state[:, UNSHIFT]] ^ key)
        return (UNSUBSTITUTE[state[:, UNSHIFT]] ^ keys[0]).tobytes()

    def _round_key(self, start):
        words = self._words[start:][:4]
        return b"".join(word.to_bytes(4) for word in words)


def _substitute_word(word):
    return int.from_bytes(bytes(SUBSTITUTE[byte] for byte in word.to_bytes(4)))


def _unmix(state):
    columns = state.reshape(-1, 4, 4)
    mixed = [
        UNMIX[14][columns[:, :, row]]
        ^ UNMIX[11][columns[:, :, (row + 1) % 4]]
        ^ UNMIX[13][columns[:, :, (row + 2) % 4]]
        ^ UNMIX[9][columns[:, :, (row + 3) % 4]]
        for row in range(4)
    ]
    return np.stack(mixed, axis=2).reshape(-1, BLOCK)


def exclusive_or(a, b):
    """Returns the exclusive or of two byte strings of one length."""
    return (int.from_bytes(a) ^ int.from_bytes(b)).to_bytes(len(a))


def encrypt_cbc(key, iv, data):
    """Encrypts whole blocks, each after the one before."""
    cipher, blocks = Aes(key), []
    for i in range(0, len(data), BLOCK):
        iv = cipher.encrypt_block(exclusive_or(iv, data[i : i + BLOCK]))
        blocks.append(iv)
    return b"".join(blocks)


def decrypt_cbc(key, iv, data):
    """Decrypts whole blocks; bytes beyond them are left out."""
    data = data[: len(data) // BLOCK * BLOCK]
    if not data:
        return b""
    plain = np.frombuffer(Aes(key).decrypt_blocks(data), dtype=np.uint8)
    return (plain ^ np.frombuffer(iv + data[:-BLOCK], dtype=np.uint8)).tobytes()


def decrypt_ecb(key, data):
    """Decrypts whole blocks."""
    return Aes(key).decrypt_blocks(data)


class CryptAES:
    """What pypdf decrypts strings and streams with: the first block is the initial vector."""

    def __init__(self, key):
        self._key = key

    def decrypt(self, data, *, strict=True):
        """Returns the plain bytes, without padding."""
        plain = decrypt_cbc(self._key, data[:BLOCK], data[BLOCK:])
        padding = plain[-1] if plain else 0
        return plain[:-padding] if 1 <= padding <= BLOCK else plain


def install():
    """Gives pypdf this cipher, if it has none."""
    if crypt_provider[0] == "local_crypt_fallback":
        pypdf._encryption.CryptAES = CryptAES
        pypdf._encryption.aes_cbc_encrypt = encrypt_cbc
        pypdf._encryption.aes_cbc_decrypt = decrypt_cbc
        pypdf._encryption.aes_ecb_decrypt = decrypt_ecb
