"""Pages of Parquet: the encodings and compressions of a column's values."""

from __future__ import annotations

import zlib
from typing import Any

from _wardian.codecs import ask
from _wardian.thrift import I32, Reader, struct, unsigned

_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_TYPES = {_INT32: "<i4", _INT64: "<i8", _FLOAT: "<f4", _DOUBLE: "<f8"}

_CODECS = ("none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw")
_NONE, _SNAPPY, _GZIP, _BROTLI, _LZ4, _ZSTD, _LZ4_RAW = 0, 1, 2, 4, 5, 6, 7

_SIZED = {_BROTLI: "brotli.decode", _LZ4_RAW: "lz4.decode", _ZSTD: "zstd.decode"}
"""Compressions for which the host needs the unpacked size."""

_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8

_ENCODINGS = {
    4: "BIT_PACKED", 5: "DELTA_BINARY_PACKED", 6: "DELTA_LENGTH_BYTE_ARRAY", 7: "DELTA_BYTE_ARRAY",
    9: "BYTE_STREAM_SPLIT",
}  # fmt: skip

_ROWS_OF_A_PAGE = 1 << 17
"""Rows of a page that is written."""

_MAX_PAGE = 256 << 20
"""Largest page that is read. Usual pages have about a megabyte."""


def codec_number(name: str | None) -> int:
    """The number of a compression by its name."""
    name = "none" if name is None else str(name).lower()
    name = {"uncompressed": "none", "lz4": "lz4_raw"}.get(name, name)
    if name in ("none", "snappy", "gzip", "lz4_raw"):
        return _CODECS.index(name)
    raise NotImplementedError(
        f"compression={name!r} cannot be written here; use 'snappy', 'gzip', 'lz4' or None"
    )


def _packed(data: bytes, codec: int) -> Any:
    if codec == _SNAPPY:
        return ask({"op": "snappy.encode"}, data)[1]
    if codec == _GZIP:
        packer = zlib.compressobj(wbits=31)
        return packer.compress(data) + packer.flush()
    if codec == _LZ4_RAW:
        return ask({"op": "lz4.encode"}, data)[1]
    return data


def _unpacked(data: memoryview, codec: int, size: int) -> memoryview:
    if codec == _NONE:
        return data
    if not 0 <= size <= _MAX_PAGE:
        raise ValueError("the file is damaged: a page is too long")
    if codec == _SNAPPY:
        made = ask({"op": "snappy.decode"}, data)[1]
    elif codec == _GZIP:
        made = memoryview(zlib.decompressobj(wbits=47).decompress(data, size))
    elif codec in _SIZED:
        made = ask({"op": _SIZED[codec], "size": size}, data)[1] if size else memoryview(b"")
    elif codec == _LZ4:
        made = memoryview(_blocks_of_hadoop(data, size))
    else:
        name = _CODECS[codec] if 0 <= codec < len(_CODECS) else codec
        raise NotImplementedError(f"Parquet with the compression {name} cannot be read here")
    if len(made) != size:
        raise ValueError("the file is damaged: a page has another length than it says")
    return made


def _blocks_of_hadoop(data: memoryview, size: int) -> bytes:
    """LZ4 in the format of Hadoop: each block follows its unpacked and packed lengths."""
    made = bytearray()
    at = 0
    while at + 8 <= len(data) and len(made) < size:
        length = int.from_bytes(data[at : at + 4], "big")
        packed = int.from_bytes(data[at + 4 : at + 8], "big")
        block = data[at + 8 : at + 8 + packed]
        if length > size - len(made) or len(block) != packed:
            raise ValueError("the file is damaged: a page ends too early")
        made += ask({"op": "lz4.decode", "size": length}, block)[1]
        at += 8 + packed
    return bytes(made)


def integers(values: Any, kind: str) -> Any:
    """An array of integers."""
    import numpy

    return numpy.array(values, dtype=kind)


# --- reading ------------------------------------------------------------------------------------


def _hybrid(data: memoryview, at: int, width: int, count: int) -> tuple[Any, int]:
    """`count` numbers of `width` bits in runs, and the position after them."""
    import numpy

    out = numpy.zeros(count, "i4")
    done = 0
    if width > 32:
        raise ValueError("the file is damaged: numbers are too wide")
    while done < count:
        reader = Reader(data, at)
        head = reader.varint()
        at = reader.at
        if head & 1:
            length = (head >> 1) * width
            packed = numpy.frombuffer(data[at : at + length], "u1")
            at += length
            bits = numpy.unpackbits(packed, bitorder="little")
            if width:
                bits = bits[: len(bits) // width * width].reshape(-1, width)
                numbers = bits @ (1 << numpy.arange(width, dtype="i8"))
            else:
                numbers = numpy.zeros((head >> 1) * 8, "i8")
            numbers = numbers[: count - done]
            if not len(numbers):
                raise ValueError("the file is damaged: a page ends too early")
            out[done : done + len(numbers)] = numbers
            done += len(numbers)
        else:
            size = (width + 7) // 8
            run = min(head >> 1, count - done)
            if not run:
                raise ValueError("the file is damaged: an empty run")
            out[done : done + run] = int.from_bytes(data[at : at + size], "little")
            at += size
            done += run
    return out, at


def _plain(data: memoryview, leaf: Any, count: int) -> Any:
    """`count` values one after another."""
    import numpy

    if leaf.physical in _TYPES:
        kind = _TYPES[leaf.physical]
        return numpy.frombuffer(data, kind, count)
    if leaf.physical == _BOOLEAN:
        bits = numpy.unpackbits(numpy.frombuffer(data, "u1"), bitorder="little")
        return bits[:count].astype(bool)
    if leaf.physical == _INT96:
        parts = numpy.frombuffer(data, [("nanos", "<i8"), ("day", "<i4")], count)
        return (parts["day"].astype("i8") - 2440588) * 86_400_000_000_000 + parts["nanos"]
    if leaf.physical == _FIXED:
        size = leaf.length
        if size <= 0 or len(data) < size * count:
            raise ValueError("the file is damaged: a page ends too early")
        return [bytes(data[at : at + size]) for at in range(0, size * count, size)]
    values = []
    raw = bytes(data)
    at = 0
    for _ in range(count):
        length = int.from_bytes(raw[at : at + 4], "little")
        at += 4 + length
        if at > len(raw):
            raise ValueError("the file is damaged: a page ends too early")
        values.append(raw[at - length : at])
    return values


class Chunk:
    """A column chunk that has been read: its pages, and its dictionary."""

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf
        self.dictionary: Any = None
        self.pages: list[tuple[Any, Any]] = []

    def values(self) -> list[tuple[Any, Any]]:
        return self.pages


def read_chunk(data: memoryview, chunk: dict[int, Any], leaf: Any) -> Chunk:
    """Reads a column chunk."""
    made = Chunk(leaf)
    codec, left = chunk[4], chunk[5]
    at = min(chunk[9], chunk.get(11) or chunk[9])
    while left > 0:
        reader = Reader(data, at)
        head = reader.struct()
        begin, size = reader.at, head[3]
        body = data[begin : begin + size]
        if size < 0 or len(body) != size:
            raise ValueError("the file is damaged: a page ends too early")
        at = begin + size
        if head[1] == 2:
            unpacked = _unpacked(body, codec, head[2])
            made.dictionary = _plain(unpacked, leaf, head[7][1])
        elif head[1] == 0:
            page = head[5]
            unpacked = _unpacked(body, codec, head[2])
            made.pages.append(_page_of_version_1(unpacked, page, made))
            left -= page[1]
        elif head[1] == 3:
            page = head[8]
            made.pages.append(_page_of_version_2(body, page, made, codec, head[2]))
            left -= page[1]
    return made


def _page_of_version_1(data: memoryview, page: dict[int, Any], chunk: Chunk) -> tuple[Any, Any]:
    import numpy

    count, at = page[1], 0
    valid = numpy.ones(_bounded(count, data), bool)
    if chunk.leaf.max_definition:
        length = int.from_bytes(data[:4], "little")
        levels, _ = _hybrid(data[4 : 4 + length], 0, 1, count)
        valid = levels == 1
        at = 4 + length
    return _decoded(data[at:], page[2], int(valid.sum()), chunk), valid


def _page_of_version_2(
    data: memoryview, page: dict[int, Any], chunk: Chunk, codec: int, size: int
) -> tuple[Any, Any]:
    import numpy

    count, length = page[1], page[5]
    valid = numpy.ones(_bounded(count, data), bool)
    if length:
        valid = _hybrid(data[:length], 0, 1, count)[0] == 1
    rest = data[length + page[6] :]
    if page.get(7, True):
        rest = _unpacked(rest, codec, size - length - page[6])
    return _decoded(rest, page[4], int(valid.sum()), chunk), valid


_MAX_ROWS = 1 << 28
"""Most rows of a page: a run of levels can promise any number with a few bytes."""


def _bounded(count: int, data: memoryview) -> int:
    if not 0 <= count <= _MAX_ROWS:
        raise ValueError("the file is damaged: a page has too many rows")
    return count


def _decoded(data: memoryview, encoding: int, count: int, chunk: Chunk) -> Any:
    import numpy

    if encoding == _PLAIN:
        return _plain(data, chunk.leaf, count)
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        if not count:
            return _plain(memoryview(b""), chunk.leaf, 0)
        indices, _ = _hybrid(data, 1, data[0], count)
        known = chunk.dictionary
        if isinstance(known, list):
            return [known[index] for index in indices]
        return numpy.asarray(known)[indices]
    if encoding == _RLE and chunk.leaf.physical == _BOOLEAN:
        return _hybrid(data, 4, 1, count)[0].astype(bool)
    if encoding == 9 and chunk.leaf.physical in _TYPES:
        kind = numpy.dtype(_TYPES[chunk.leaf.physical])
        streams = numpy.frombuffer(data, "u1", count * kind.itemsize).reshape(kind.itemsize, count)
        return numpy.ascontiguousarray(streams.T).view(kind).ravel()
    name = _ENCODINGS.get(encoding, encoding)
    raise NotImplementedError(
        f"the column {chunk.leaf.name!r} has the encoding {name}, which cannot be read here"
    )


def joined(chunks: list[list[tuple[Any, Any]]], leaf: Any) -> tuple[Any, Any]:
    """Values and validity of all pages. Missing values are zero or empty."""
    import numpy

    every = [page for pages in chunks for page in pages]
    valid = numpy.concatenate([there for _, there in every] or [numpy.zeros(0, bool)])
    if leaf.physical in (_BYTES, _FIXED):
        values = iter([value for part, _ in every for value in part])
        return [next(values) if there else b"" for there in valid.tolist()], valid
    kind = "?" if leaf.physical == _BOOLEAN else _TYPES.get(leaf.physical, "<i8")
    out = numpy.zeros(len(valid), kind)
    out[valid] = numpy.concatenate([numpy.asarray(part) for part, _ in every] or [out])
    return out, valid


# --- writing ------------------------------------------------------------------------------------


def _levels(valid: Any) -> bytes:
    """Encodes the validity of values as one run, or as bits."""
    import numpy

    if valid.all():
        body = unsigned(len(valid) << 1) + b"\x01"
    else:
        groups = -(-len(valid) // 8)
        body = unsigned(groups << 1 | 1) + numpy.packbits(valid, bitorder="little").tobytes()
    return len(body).to_bytes(4, "little") + body


def _plain_bytes(values: Any, physical: int) -> bytes:
    import numpy

    if physical == _BOOLEAN:
        return numpy.packbits(values, bitorder="little").tobytes()
    if physical == _FIXED:
        return b"".join(values)
    if physical == _BYTES:
        return b"".join([len(value).to_bytes(4, "little") + value for value in values])
    made: bytes = values.astype(_TYPES[physical]).tobytes()
    return made


def _indices(codes: Any, count: int) -> bytes:
    """Indices into a dictionary, as bits."""
    import numpy

    width = max((count - 1).bit_length(), 1)
    groups = -(-len(codes) // 8)
    padded = numpy.zeros(groups * 8, "i8")
    padded[: len(codes)] = codes
    bits = (padded[:, None] >> numpy.arange(width)) & 1
    packed = numpy.packbits(bits.astype("u1").ravel(), bitorder="little").tobytes()
    return bytes((width,)) + unsigned(groups << 1 | 1) + packed


def write_chunk(out: bytearray, column: Any, start: int, end: int, codec: int) -> dict[int, Any]:
    """Appends a column chunk; returns its metadata."""
    begin, unpacked_size = len(out), 0
    dictionary_at = None
    if column.dictionary is not None:
        dictionary_at = begin
        count = len(column.dictionary)
        body = _plain_bytes(column.dictionary, column.physical)
        head = {7: {1: I32(count), 2: I32(_PLAIN)}}
        unpacked_size += _write_page(out, 2, head, body, codec)
    data_at = len(out)
    for at in range(start, max(end, start + 1), _ROWS_OF_A_PAGE):
        rows = slice(at, min(at + _ROWS_OF_A_PAGE, end))
        valid = column.valid[rows]
        values = column.values[rows]
        if isinstance(values, list):
            values = [value for value, there in zip(values, valid) if there]
        else:
            values = values[valid]
        if column.dictionary is None:
            body, encoding = _plain_bytes(values, column.physical), _PLAIN
        else:
            body, encoding = _indices(values, len(column.dictionary)), _RLE_DICTIONARY
        counts = {1: I32(len(valid)), 2: I32(encoding), 3: I32(_RLE), 4: I32(_RLE)}
        unpacked_size += _write_page(out, 0, {5: counts}, _levels(valid) + body, codec)
    encodings = [_PLAIN, _RLE] + ([] if dictionary_at is None else [_RLE_DICTIONARY])
    return {
        2: begin,
        3: {
            1: I32(column.physical),
            2: [I32(encoding) for encoding in encodings],
            3: [column.name.encode()],
            4: I32(codec),
            5: end - start,
            6: unpacked_size,
            7: len(out) - begin,
            9: data_at,
            11: dictionary_at,
        },
    }


def _write_page(out: bytearray, kind: int, head: dict[int, Any], body: bytes, codec: int) -> int:
    packed = _packed(body, codec)
    header = struct({1: I32(kind), 2: I32(len(body)), 3: I32(len(packed)), **head})
    out += header
    out += packed
    return len(header) + len(body)
