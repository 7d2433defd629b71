"""WebP for Pillow: the module `PIL._webp`, and saving, on the host's codec.

The host encodes and decodes still pictures, lossy and lossless. The frames of animations are split
and joined here.
"""

from __future__ import annotations

from typing import Any

from _wardian.codecs import ask

_ANIMATION, _XMP, _EXIF, _ALPHA, _ICC = 0x02, 0x04, 0x08, 0x10, 0x20
"""Flags of the chunk `VP8X`."""

_PICTURES = (b"VP8 ", b"VP8L")

_MAX_SIDE = 16383


def _chunks(data: memoryview) -> list[tuple[bytes, memoryview]]:
    """Names and contents of the chunks that follow each other in `data`."""
    found = []
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        found.append((bytes(data[at : at + 4]), data[at + 8 : at + 8 + size]))
        at += 8 + size + size % 2
    return found


def _chunk(name: bytes, content: Any) -> bytes:
    padding = b"\0" if len(content) % 2 else b""
    return b"".join((name, len(content).to_bytes(4, "little"), content, padding))


def _three(number: int) -> bytes:
    return number.to_bytes(3, "little")


def _file(*chunks: bytes) -> bytes:
    body = b"".join((b"WEBP", *chunks))
    return b"RIFF" + len(body).to_bytes(4, "little") + body


def _extended(flags: int, width: int, height: int) -> bytes:
    return _chunk(b"VP8X", bytes((flags, 0, 0, 0)) + _three(width - 1) + _three(height - 1))


def _still(chunks: list[tuple[bytes, memoryview]], width: int, height: int) -> bytes:
    """A file with one picture, made from the chunks of a frame."""
    parts = [_chunk(name, content) for name, content in chunks if name in (*_PICTURES, b"ALPH")]
    has_alpha = any(name == b"ALPH" for name, _ in chunks)
    return _file(_extended(_ALPHA, width, height), *parts) if has_alpha else _file(*parts)


def _number(data: memoryview) -> int:
    return int.from_bytes(data, "little")


class _Frame:
    """A frame of an animation, or the only picture of a file."""

    def __init__(self, chunks: list[tuple[bytes, memoryview]], place: Any, duration: int) -> None:
        self.left, self.top, self.width, self.height = place
        self.chunks = chunks
        self.duration = duration
        self.is_blended = False
        self.is_disposed = False


class WebPAnimDecoder:
    """Reads the frames of a file one after another, as libwebp's decoder of this name does."""

    def __init__(self, data: bytes) -> None:
        view = memoryview(data)
        if view[:4] != b"RIFF" or view[8:12] != b"WEBP":
            raise OSError("could not create decoder object")
        size = _number(view[4:8])
        self._chunks = _chunks(view[12 : 8 + size])
        self._loop, self._background = 1, 0xFFFFFFFF
        self._frames: list[_Frame] = []
        self._has_alpha = False
        self._read_structure()
        if not self._frames:
            raise OSError("could not create decoder object")
        self.reset()

    def _read_structure(self) -> None:
        name, head = self._chunks[0] if self._chunks else (b"", memoryview(b""))
        if name == b"VP8X" and len(head) >= 10:
            flags = head[0]
            self._size = _number(head[4:7]) + 1, _number(head[7:10]) + 1
            self._has_alpha = bool(flags & _ALPHA)
            if flags & _ANIMATION:
                self._read_animation()
                return
        elif name == b"VP8L" and len(head) >= 5:
            bits = _number(head[1:5])
            self._size = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
            self._has_alpha = bool(bits >> 28 & 1)
        elif name == b"VP8 " and len(head) >= 10:
            self._size = _number(head[6:8]) & 0x3FFF, _number(head[8:10]) & 0x3FFF
        else:
            return
        if any(name in _PICTURES for name, _ in self._chunks):
            self._frames.append(_Frame(self._chunks, (0, 0, *self._size), 0))

    def _read_animation(self) -> None:
        self._background, self._loop = 0xFFFFFFFF, 1
        for name, content in self._chunks:
            if name == b"ANIM" and len(content) >= 6:
                self._background, self._loop = _number(content[:4]), _number(content[4:6])
            elif name == b"ANMF" and len(content) >= 16:
                left, top = _number(content[:3]) * 2, _number(content[3:6]) * 2
                width, height = _number(content[6:9]) + 1, _number(content[9:12]) + 1
                place = (left, top, width, height)
                frame = _Frame(_chunks(content[16:]), place, _number(content[12:15]))
                frame.is_disposed = bool(content[15] & 1)
                frame.is_blended = not content[15] & 2
                self._frames.append(frame)

    def get_info(self) -> tuple[tuple[int, int], int, int, int, str]:
        mode = "RGBA" if self._has_alpha else "RGBX"
        return self._size, self._loop, self._background, len(self._frames), mode

    def get_chunk(self, name: str) -> bytes | None:
        found = (bytes(content) for kind, content in self._chunks if kind == name.encode())
        return next(found, None)

    def reset(self) -> None:
        self._next = 0
        self._timestamp = 0
        self._canvas: Any = None

    def get_next(self) -> tuple[bytes, int] | None:
        from PIL import Image

        if self._next >= len(self._frames):
            return None
        frame = self._frames[self._next]
        try:
            picture = self._decode(frame, Image)
        except NotImplementedError as reason:
            raise OSError(str(reason)) from None
        if picture is None:
            return None
        self._show(frame, picture, Image)
        self._next += 1
        self._timestamp += frame.duration
        data = self._canvas.tobytes()
        if frame.is_disposed:
            place = (frame.left, frame.top, frame.left + frame.width, frame.top + frame.height)
            self._canvas.paste((0, 0, 0, 0), place)
        return data, self._timestamp

    def _decode(self, frame: _Frame, Image: Any) -> Any:  # noqa: N803
        still = _still(frame.chunks, frame.width, frame.height)
        try:
            header, pixels = ask({"op": "webp.decode"}, still)
        except OSError:
            return None
        size = header["width"], header["height"]
        if size != (frame.width, frame.height):
            return None
        return Image.frombytes(header["mode"], size, pixels).convert("RGBA")

    def _show(self, frame: _Frame, picture: Any, Image: Any) -> None:  # noqa: N803
        if self._canvas is None:
            if picture.size == self._size:
                self._canvas = picture
                return
            self._canvas = Image.new("RGBA", self._size)
        if frame.is_blended:
            self._canvas.alpha_composite(picture, (frame.left, frame.top))
        else:
            self._canvas.paste(picture, (frame.left, frame.top))


def fill_module(namespace: dict[str, Any]) -> None:
    """Fills `PIL._webp`; its functions for saving are not used (see `replace_save`)."""
    namespace["WebPAnimDecoder"] = WebPAnimDecoder
    namespace["webpdecoder_version"] = "1.6.0"


class _Way:
    """The options for encoding: the arguments of `save`, checked like libwebp."""

    def __init__(self, info: dict[str, Any]) -> None:
        quality = float(info.get("quality", 80))
        opacity = int(info.get("alpha_quality", 100))
        effort = int(info.get("method", 0 if info.get("save_all") else 4))
        if not (0 <= quality <= 100 and 0 <= opacity <= 100 and 0 <= effort <= 6):
            raise ValueError("invalid configuration")
        # In lossless mode, `quality` is the effort to make the file small, and is ignored here.
        self.how = {} if info.get("lossless") else {"quality": round(quality)}
        self._is_exact = bool(info.get("exact"))

    def encode(self, image: Any) -> bytes:
        """The chunks of a picture."""
        width, height = image.size
        if max(width, height) > _MAX_SIDE:
            raise ValueError(
                f"encoding error 5: Image size exceeds WebP limit of {_MAX_SIDE} pixels"
            )
        if image.mode == "RGBA" and not self.how and not self._is_exact:
            # libwebp drops the colour of invisible pixels.
            unseen = image.getchannel("A").point([255] + [0] * 255)
            image = image.copy()
            image.paste((0, 0, 0, 0), mask=unseen)
        header = {"op": "webp.encode", "width": width, "height": height, "mode": image.mode}
        return bytes(ask(header | self.how, image.tobytes())[1])


def _plain(image: Any) -> Any:
    """Converts to a mode of WebP. Drops alpha that is opaque everywhere, like libwebp."""
    if image.mode not in ("RGB", "RGBA"):
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    if image.mode == "RGBA" and image.getextrema()[3][0] == 255:
        return image.convert("RGB")
    return image


def _metadata(info: dict[str, Any]) -> tuple[bytes, bytes, bytes]:
    """Colour profile, EXIF and XMP, from the arguments of `save`."""
    exif = info.get("exif", b"") or b""
    if hasattr(exif, "tobytes"):
        exif = exif.tobytes()
    xmp = info.get("xmp", b"") or b""
    if isinstance(xmp, str):
        xmp = xmp.encode()
    return info.get("icc_profile") or b"", exif.removeprefix(b"Exif\0\0"), xmp


def _with_metadata(
    size: tuple[int, int], flags: int, metadata: tuple[bytes, bytes, bytes], pictures: list[bytes]
) -> bytes:
    profile, exif, xmp = metadata
    flags |= (_ICC if profile else 0) | (_EXIF if exif else 0) | (_XMP if xmp else 0)
    # Alpha in a chunk of its own has to be announced.
    if not flags & ~_ALPHA and not pictures[0].startswith(b"ALPH"):
        return _file(*pictures)
    parts = [_extended(flags, *size)]
    parts += [_chunk(b"ICCP", profile)] if profile else []
    parts += pictures
    parts += [_chunk(b"EXIF", exif)] if exif else []
    parts += [_chunk(b"XMP ", xmp)] if xmp else []
    return _file(*parts)


def _save(im: Any, fp: Any, filename: Any) -> None:
    """Writes a picture, by default lossy with the quality 80."""
    way = _Way(im.encoderinfo)
    picture = _plain(im)
    flags = _ALPHA if picture.mode == "RGBA" else 0
    metadata = _metadata(im.encoderinfo)
    fp.write(_with_metadata(picture.size, flags, metadata, [way.encode(picture)]))


def _save_all(im: Any, fp: Any, filename: Any) -> None:
    """Writes an animation of whole pictures. Merges equal consecutive frames."""
    info = im.encoderinfo
    way = _Way(info)
    images = [im, *info.get("append_images", [])]
    if sum(getattr(image, "n_frames", 1) for image in images) == 1:
        _save(im, fp, filename)
        return
    duration = info.get("duration", im.info.get("duration", 0))
    frames: list[list[Any]] = []
    position = im.tell()
    count, has_alpha, before = 0, False, ("", b"")
    try:
        for image in images:
            for number in range(getattr(image, "n_frames", 1)):
                image.seek(number)
                each = duration[count] if isinstance(duration, (list, tuple)) else duration
                count += 1
                picture = _plain(image)
                if picture.size != im.size:
                    raise ValueError("frames of an animation need one size")
                # Frames keep the alpha of their mode, even if it hides nothing.
                has_alpha |= image.mode == "RGBA" or picture.mode == "RGBA"
                pixels = (picture.mode, picture.tobytes())
                if frames and pixels == before:
                    frames[-1][1] += each
                else:
                    frames.append([way.encode(picture), each])
                before = pixels
    finally:
        im.seek(position)
    metadata = _metadata(info)
    flags = _ALPHA if has_alpha else 0
    if len(frames) == 1:
        fp.write(_with_metadata(im.size, flags, metadata, [frames[0][0]]))
        return
    background = info.get("background", (0, 0, 0, 0))
    valid = isinstance(background, (list, tuple)) and len(background) == 4
    if not valid or not all(0 <= value < 256 for value in background):
        raise OSError(f"Background color is not an RGBA tuple clamped to (0-255): {background}")
    red, green, blue, opacity = background
    loop = int(info.get("loop", 0)).to_bytes(2, "little")
    head = _chunk(b"ANIM", bytes((blue, green, red, opacity)) + loop)
    made = [_frame(picture, im.size, round(each)) for picture, each in frames]
    fp.write(_with_metadata(im.size, _ANIMATION | flags, metadata, [head, *made]))


def _frame(picture: bytes, size: tuple[int, int], duration: int) -> bytes:
    width, height = size
    place = _three(0) * 2 + _three(width - 1) + _three(height - 1)
    # Bit 1: the frame replaces the previous pixels.
    return _chunk(b"ANMF", place + _three(duration) + b"\x02" + picture)


def replace_save(plugin: Any) -> None:
    """Saves pictures with the functions above."""
    image = plugin.Image
    image.register_save("WEBP", _save)
    image.register_save_all("WEBP", _save_all)
