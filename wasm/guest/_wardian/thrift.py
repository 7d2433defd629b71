"""The parts of Thrift's compact protocol that Parquet's metadata needs.

A structure is a dictionary by field number. The Python type of a written value decides its Thrift
type: `I32(5)`, `True`, `b"text"`, `[...]`, or a dictionary for a structure.
"""

from __future__ import annotations

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)

_MAX_DEPTH = 64


class I32(int):
    """An integer that is written as one of 32 bits; others have 64."""


class I8(int):
    """An integer that is written as one of 8 bits."""


class Reader:
    """Reads values one after another."""

    def __init__(self, data: Any, at: int = 0) -> None:
        self.data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError("the metadata is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _byte(self) -> int:
        byte: int = self.data[self.at]
        self.at += 1
        return byte

    def varint(self) -> int:
        """A number in groups of seven bits."""
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _signed(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def _bytes(self) -> bytes:
        length = self.varint()
        if length > len(self.data) - self.at:
            raise ValueError("the metadata ends too early")
        self.at += length
        return bytes(self.data[self.at - length : self.at])

    def _value(self, kind: int, depth: int, in_list: bool = False) -> Any:
        if kind in (_TRUE, _FALSE):
            return self._byte() == 1 if in_list else kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._signed()
        if kind == _DOUBLE:
            self.at += 8
            return bytes(self.data[self.at - 8 : self.at])
        if kind == _BINARY:
            return self._bytes()
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 != 15 else self.varint()
            if count > len(self.data) - self.at:
                raise ValueError("the metadata ends too early")
            return [self._value(head & 15, depth + 1, in_list=True) for _ in range(count)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("the metadata is damaged")


def unsigned(value: int) -> bytes:
    """A number as a varint."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> bytes:
    return unsigned(value << 1 if value >= 0 else ~value << 1 | 1)


def _kind(value: Any) -> int:
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, I8):
        return _BYTE
    if isinstance(value, I32):
        return _I32
    if isinstance(value, int):
        return _I64
    if isinstance(value, bytes):
        return _BINARY
    return _LIST if isinstance(value, list) else _STRUCT


def _body(value: Any) -> bytes:
    if isinstance(value, bool):
        return b""
    if isinstance(value, I8):
        return bytes((value & 0xFF,))
    if isinstance(value, int):
        return _signed(value)
    if isinstance(value, bytes):
        return unsigned(len(value)) + value
    if isinstance(value, list):
        kind = _kind(value[0]) if value else _STRUCT
        count = len(value)
        short = count < 15
        head = bytes((count << 4 | kind,)) if short else bytes((0xF0 | kind,)) + unsigned(count)
        return head + b"".join(map(_body, value))
    return struct(value)


def struct(fields: dict[int, Any]) -> bytes:
    """The bytes of a structure; fields that are None are left out."""
    out = bytearray()
    before = 0
    for number, value in sorted(fields.items()):
        if value is None:
            continue
        step = number - before
        kind = _kind(value)
        out += bytes((step << 4 | kind,)) if step < 16 else bytes((kind,)) + _signed(number)
        out += _body(value)
        before = number
    out.append(0)
    return bytes(out)
