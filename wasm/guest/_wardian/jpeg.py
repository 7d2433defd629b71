"""JPEG for Pillow: replaces its C decoder and encoder by the host's codec."""

from __future__ import annotations

from typing import Any

from _wardian.codecs import ask

_MODES = ("L", "RGB", "YCbCr", "CMYK")

# Tables K.1 and K.2 of ITU-T T.81, for the quality 50.
# fmt: off
_LUMA = (
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55,
    14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92,
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
)
_CHROMA = (
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
)
# fmt: on

_SAMPLING = {-1: "4:2:0", 0: "4:4:4", 1: "4:2:2", 2: "4:2:0"}

_BROKEN = -2
"""Pillow's number of the error "broken data stream"."""


def _tables(quality: int, custom: list[list[int]] | None) -> list[list[int]]:
    """The quantisation tables for a quality, as libjpeg computes them."""
    if custom:
        base = [custom[0], custom[min(1, len(custom) - 1)]]
        quality = 50 if quality == -1 else quality
    else:
        base = [list(_LUMA), list(_CHROMA)]
        quality = 75 if quality == -1 else quality
    quality = min(max(quality, 1), 100)
    scale = 5000 // quality if quality < 50 else 200 - quality * 2
    return [[min(max((value * scale + 50) // 100, 1), 255) for value in table] for table in base]


def _segment(marker: int, data: bytes) -> bytes:
    return bytes((0xFF, marker)) + (len(data) + 2).to_bytes(2, "big") + data


class _End:
    """Finds the end of a file that arrives in pieces: the marker EOI outside of segments."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._at = 2  # behind SOI
        self._in_scan = False

    def add(self, piece: bytes) -> bool:
        """Adds a piece. Returns true once the end was found; `data` is cut there."""
        data = self.data
        data += piece
        while True:
            marker = data.find(0xFF, self._at)
            if marker < 0:
                self._at = len(data)
                return False
            if marker + 1 >= len(data):
                self._at = marker
                return False
            kind = data[marker + 1]
            if kind == 0xD9:
                del data[marker + 2 :]
                return True
            if kind in (0x00, 0x01, 0xFF) or 0xD0 <= kind <= 0xD8:
                self._at = marker + (1 if kind == 0xFF else 2)
                continue
            if marker + 4 > len(data):
                self._at = marker
                return False
            self._at = marker + 2 + int.from_bytes(data[marker + 2 : marker + 4], "big")


def add_codecs(Image: Any) -> None:  # noqa: N803
    """Registers decoder and encoder with `PIL.Image`, and tells `PIL.features`."""

    class JpegDecoder:
        """Collects the file, lets the host decode it, and stores the pixels.

        Written after `PIL.ImageFile.PyDecoder`, which cannot be imported before `PIL.Image` is
        complete.
        """

        pulls_fd = False

        def __init__(self, mode: str, *args: Any) -> None:
            self.mode = mode
            self._rawmode = args[0] if args else mode
            self._scale = args[2] if len(args) > 2 else 1
            self._end = _End()
            self._im: Any = None
            self._extents: tuple[int, int, int, int] = (0, 0, 0, 0)

        def setfd(self, fd: Any) -> None:
            pass

        def setimage(self, im: Any, extents: tuple[int, int, int, int] | None = None) -> None:
            self._im = im
            self._extents = extents or (0, 0, *im.size)

        def cleanup(self) -> None:
            self._end = _End()

        def decode(self, buffer: bytes) -> tuple[int, int]:
            if not self._end.add(buffer):
                return len(buffer), 0
            rawmode = self._rawmode
            mode = "CMYK" if rawmode == "CMYK;I" else rawmode
            if mode not in _MODES:
                mode = rawmode = "RGB"
            try:
                header, pixels = ask({"op": "jpeg.decode", "mode": mode}, self._end.data)
            except OSError:
                return -1, _BROKEN
            size = (header["width"], header["height"])
            if self._scale > 1:
                full = Image.frombytes(self.mode, size, pixels, "raw", rawmode)
                small = full.reduce(self._scale)
                size, pixels, rawmode = small.size, small.tobytes(), self.mode
            left, top, right, bottom = self._extents
            if size != (right - left, bottom - top):
                return -1, _BROKEN
            decoder = Image._getdecoder(self.mode, "raw", rawmode)
            decoder.setimage(self._im, self._extents)
            decoder.decode(pixels)
            return -1, 0

    class JpegEncoder:
        """Lets the host encode the pixels, and writes the file with the segments of metadata."""

        pushes_fd = True

        def __init__(self, mode: str, *args: Any) -> None:
            self._rawmode = args[0]
            (
                self._quality,
                self._progressive,
                self._smooth,
                self._optimize,
                self._keep_rgb,
                self._streamtype,
                self._dpi,
                self._subsampling,
                self._restart_blocks,
                self._restart_rows,
                self._tables,
                self._comment,
                self._extra,
                self._exif,
            ) = args[1:]
            self._im: Any = None
            self._fd: Any = None

        def setfd(self, fd: Any) -> None:
            self._fd = fd

        def setimage(self, im: Any, extents: Any = None) -> None:
            self._im = im

        def cleanup(self) -> None:
            self._im = None

        def encode_to_pyfd(self) -> tuple[int, int]:
            image = Image.Image()._new(self._im)
            rawmode = self._rawmode
            if self._keep_rgb:
                raise OSError("keep_rgb=True is not available here: JPEG is written as YCbCr")
            if self._smooth or self._streamtype:
                raise OSError("smooth=... and streamtype=... of JPEG are not available here")
            # The host inverts CMYK itself, as Adobe's programs expect it.
            mode = "CMYK" if rawmode == "CMYK;I" else rawmode
            width, height = image.size
            if max(width, height) > 65500:
                raise OSError("a JPEG cannot be wider or higher than 65500 pixels")
            header = {
                "op": "jpeg.encode",
                "width": width,
                "height": height,
                "mode": mode,
                "tables": _tables(self._quality, self._tables),
                "sampling": _SAMPLING.get(self._subsampling, "4:2:0"),
                "progressive": bool(self._progressive),
                "optimize": bool(self._optimize),
                "restart_interval": self._restart_interval(width, mode),
                "density": [min(max(int(dots), 0), 65535) for dots in self._dpi],
            }
            _, made = ask(header, image.tobytes("raw", mode))
            self._write(made)
            return 0, 0

        def _restart_interval(self, width: int, mode: str) -> int:
            if self._restart_blocks > 0:
                return min(int(self._restart_blocks), 65535)
            across = 8 if mode in ("L", "CMYK") or self._subsampling == 0 else 16
            return min(int(self._restart_rows) * -(-width // across), 65535)

        def _write(self, made: memoryview) -> None:
            """Writes the segments of metadata after the first segment (JFIF or Adobe)."""
            begin = 4 + int.from_bytes(made[4:6], "big")
            head = bytes(made[:begin]).replace(b"JFIF\0\x01\x02", b"JFIF\0\x01\x01")
            self._fd.write(head)  # libjpeg says version 1.01
            if self._exif:
                self._fd.write(_segment(0xE1, self._exif))
            self._fd.write(self._extra)
            if self._comment:
                comment = self._comment
                comment = comment.encode() if isinstance(comment, str) else bytes(comment)
                self._fd.write(_segment(0xFE, comment))
            self._fd.write(made[begin:])

    Image.register_decoder("jpeg", JpegDecoder)
    Image.register_encoder("jpeg", JpegEncoder)
    # `PIL.features` looks for these names.
    Image.core.jpeg_decoder = JpegDecoder
    Image.core.jpeg_encoder = JpegEncoder
    Image.core.jpeglib_version = "6b"
