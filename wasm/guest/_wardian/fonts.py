"""The module `PIL._imagingft`, implemented with the FreeType of matplotlib.

Pillow's own module is C and not part of this interpreter. Glyphs come from the same FreeType, so
they look the same. Layout (kerning, ligatures) is Raqm's, or basic if Pillow requests that.
Strokes are approximated, because FreeType's stroker is not accessible.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.machinery import BuiltinImporter
from importlib.util import module_from_spec
from typing import Any

_UNIT = 64
"""FreeType counts positions in 64ths of a pixel."""

_BASIC = 0


def _freetype() -> Any:
    """matplotlib's FreeType, without the rest of matplotlib, which takes long to import."""
    name = "matplotlib.ft2font"
    module = sys.modules.get(name)
    if module is None:
        spec = BuiltinImporter.find_spec(name)
        if spec is None:
            from matplotlib import ft2font

            return ft2font
        module = module_from_spec(spec)
        sys.modules[name] = module
        BuiltinImporter.exec_module(module)
    return module


def _pixels(position: float) -> int:
    """Rounds a position in 64ths as FreeType rounds it."""
    return (int(position) + 32) >> 6


class Glyph:
    """A glyph of a layout: its index, its position in 64ths, and the pen position after it."""

    __slots__ = ("advance_to", "index", "source", "x", "y")

    def __init__(self, source: Any, index: int, x: int, y: int, advance_to: int) -> None:
        self.source = source
        self.index = index
        self.x = x
        self.y = y
        self.advance_to = advance_to


class Font:
    """A face at a size, with the methods that `PIL.ImageFont` calls."""

    def __init__(self, source: Any, size: float, index: int, layout_engine: int) -> None:
        ft = _freetype()
        try:
            self._face = ft.FT2Font(source, face_index=index)
        except FileNotFoundError:
            raise OSError("cannot open resource") from None
        except (RuntimeError, ValueError, OverflowError):
            raise OSError("unknown file format") from None
        self._face.set_size(size, 72)
        self._size = size
        self._simple = layout_engine == _BASIC
        self._flags = ft.LoadFlags
        self._modes = ft.RenderMode
        self._kerning = ft.Kerning.DEFAULT
        self.family: str | None = self._face.family_name
        self.style: str | None = self._face.style_name
        self.glyphs: int = self._face.num_glyphs
        scale = size / self._face.units_per_EM
        self.ascent = _ceil(self._face.ascender * scale)
        self.descent = _ceil(-self._face.descender * scale)
        self.height = _round(self._face.height * scale)
        self.x_ppem = self.y_ppem = _round(size)

    def getvaraxes(self) -> list[dict[str, Any]]:
        raise OSError("not a variable font")

    def getvarnames(self) -> list[bytes]:
        raise OSError("not a variable font")

    def setvarname(self, index: int) -> None:
        raise OSError("not a variable font")

    def setvaraxes(self, axes: list[float]) -> None:
        raise OSError("not a variable font")

    def getlength(
        self,
        text: str | bytes,
        mode: str = "",
        direction: str | None = None,
        features: list[str] | None = None,
        lang: str | None = None,
    ) -> int:
        glyphs = self._layout(text, mode, direction, features, lang)
        return glyphs[-1].advance_to if glyphs else 0

    def getsize(
        self,
        text: str | bytes,
        mode: str = "",
        direction: str | None = None,
        features: list[str] | None = None,
        lang: str | None = None,
        anchor: str | None = None,
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        glyphs = self._layout(text, mode, direction, features, lang)
        left, top, right, bottom = self._bounds(glyphs, mode)
        across, up = self._anchor(anchor, glyphs, top, bottom)
        return (right - left, top - bottom), (left - across, up - top)

    def render(
        self,
        text: str | bytes,
        fill: Callable[[int, int], Any],
        mode: str = "",
        direction: str | None = None,
        features: list[str] | None = None,
        lang: str | None = None,
        stroke_width: float = 0,
        stroke_filled: bool = False,
        anchor: str | None = None,
        ink: int = 0,
        start: tuple[float, float] = (0, 0),
    ) -> tuple[Any, tuple[int, int]]:
        import numpy

        glyphs = self._layout(text, mode, direction, features, lang)
        left, top, right, bottom = self._bounds(glyphs, mode)
        across, up = self._anchor(anchor, glyphs, top, bottom)
        margin = _ceil(stroke_width)
        start_x, start_y = start
        width = right - left + _ceil(stroke_width * 2 + start_x)
        height = top - bottom + _ceil(stroke_width * 2 + start_y)
        image = fill(width, height)
        offset = (_round(left - across - stroke_width), _round(up - top - stroke_width))
        if not width or not height:
            return image, offset

        canvas = numpy.zeros((height + 2 * margin, width + 2 * margin), numpy.uint8)
        for glyph in glyphs:
            bitmap = self._bitmap(glyph, mode)
            x = _pixels(glyph.x + start_x * _UNIT) + bitmap.left - left + margin
            y = top - bitmap.top - _pixels(glyph.y - start_y * _UNIT) + margin
            _lay_over(canvas, numpy.asarray(bitmap.buffer), x, y, mode)
        if stroke_width:
            canvas = _stroked(canvas, stroke_width, stroke_filled, mode)
        shift = margin - _round(stroke_width)
        canvas = canvas[shift : shift + height, shift : shift + width]
        _store(image, canvas, mode, ink)
        return image, offset

    def _layout(
        self,
        text: str | bytes,
        mode: str,
        direction: str | None,
        features: list[str] | None,
        lang: str | None,
    ) -> list[Glyph]:
        if isinstance(text, (bytes, bytearray)):
            text = text.decode("latin-1")
        if not isinstance(text, str):
            raise TypeError("expected string or bytes")
        if self._simple:
            if features is not None or direction is not None or lang is not None:
                raise KeyError(
                    "setting text direction, language or font features is not supported without "
                    "libraqm"
                )
            return list(self._simple_layout(text, mode))
        if direction not in (None, "ltr", "rtl", "ttb"):
            raise ValueError("direction must be either 'rtl', 'ltr' or 'ttb'")
        if direction == "ttb":
            raise ValueError("vertical text (direction='ttb') is not available here")
        if not text:
            return []
        return list(self._full_layout(text, mode, features, lang))

    def _full_layout(
        self, text: str, mode: str, features: list[str] | None, lang: str | None
    ) -> Iterator[Glyph]:
        """Raqm's layout, with advances that are not rounded to the grid."""
        flags = self._flags.TARGET_MONO if mode == "1" else self._flags.NO_HINTING
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of missing glyphs, which Pillow draws as boxes
            items = self._face._layout(
                text, flags, features=features, language=lang
            )
        starts = [round(item.x * _UNIT) for item in items]
        if items:
            last = items[-1].ft_object.load_glyph(items[-1].glyph_index, flags)
            starts.append(starts[-1] + last.horiAdvance)
        for item, x, end in zip(items, starts, starts[1:], strict=False):
            yield Glyph(item.ft_object, item.glyph_index, x, round(item.y * _UNIT), end)

    def _simple_layout(self, text: str, mode: str) -> Iterator[Glyph]:
        """One glyph after another, each as wide as the font says, with the table `kern`."""
        pen = 0
        before = 0
        for letter in text:
            index = self._face.get_char_index(ord(letter))
            if before and index:
                pen += self._face.get_kerning(before, index, self._kerning)
            advance = self._face.load_glyph(index, self._load_flags(mode)).horiAdvance
            yield Glyph(self._face, index, pen, 0, pen + advance)
            pen += advance
            before = index

    def _bounds(self, glyphs: list[Glyph], mode: str) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of what is drawn, upwards from the baseline."""
        left = right = top = bottom = 0
        for glyph in glyphs:
            x_min, y_min, x_max, y_max = glyph.source.load_glyph(
                glyph.index, self._load_flags(mode)
            ).bbox
            x, y = _pixels(glyph.x), _pixels(glyph.y)
            right = max(right, _pixels(glyph.advance_to), x + _up(x_max))
            left = min(left, x + (x_min >> 6))
            highest, lowest = y + _up(y_max), y + (y_min >> 6)
            top, bottom = max(top, highest), min(bottom, lowest)
        return left, top, right, bottom

    def _anchor(
        self, anchor: str | None, glyphs: list[Glyph], top: int, bottom: int
    ) -> tuple[int, int]:
        anchor = "la" if anchor is None else anchor
        if len(anchor) != 2 or anchor[0] not in "lmr" or anchor[1] not in "atmsbd":
            raise ValueError("bad anchor specified")
        advance = glyphs[-1].advance_to if glyphs else 0
        across = {"l": 0, "m": _pixels(advance >> 1), "r": _pixels(advance)}[anchor[0]]
        if not glyphs:
            return across, 0
        ascent, descent = self.ascent, -self.descent
        heights = {"a": ascent, "t": top, "m": _pixels((ascent + descent) * 32)}
        heights |= {"s": 0, "b": bottom, "d": descent}
        return across, heights[anchor[1]]

    def _load_flags(self, mode: str) -> Any:
        return self._flags.TARGET_MONO if mode == "1" else self._flags.DEFAULT

    def _bitmap(self, glyph: Glyph, mode: str) -> Any:
        render = self._modes.MONO if mode == "1" else self._modes.NORMAL
        return glyph.source._render_glyph(glyph.index, self._load_flags(mode), render)


def _up(position: int) -> int:
    """The next whole pixel."""
    return -(-position >> 6)


def _ceil(value: float) -> int:
    return -int(-value // 1)


def _round(value: float) -> int:
    return int(value + 0.5) if value >= 0 else -int(0.5 - value)


def _lay_over(canvas: Any, bitmap: Any, x: int, y: int, mode: str) -> None:
    """Adds a glyph to the canvas, cut to its size."""
    height, width = bitmap.shape
    rows = slice(max(y, 0), min(y + height, canvas.shape[0]))
    columns = slice(max(x, 0), min(x + width, canvas.shape[1]))
    if rows.start >= rows.stop or columns.start >= columns.stop:
        return
    part = bitmap[rows.start - y : rows.stop - y, columns.start - x : columns.stop - x]
    if mode == "1" and part.size and part.max() == 1:
        part = part * 255
    below = canvas[rows, columns].astype("uint16")
    canvas[rows, columns] = below + (255 - below) * part.astype("uint16") // 255


def _stroked(canvas: Any, width: float, filled: bool, mode: str) -> Any:
    """The line of this width on both sides of an outline, with what is inside if it is filled."""
    out = _spread(canvas, width)
    if not filled:
        out -= 255 - _spread(255 - canvas, width)
    if mode == "1":
        out = (out >= 128) * 255
    return out.astype("uint8")


def _spread(canvas: Any, width: float) -> Any:
    """Spreads each pixel over a disc."""
    import numpy

    reach = _ceil(width)
    padded = numpy.pad(canvas, reach, mode="edge").astype("int16")
    rows, columns = canvas.shape
    out = numpy.zeros(canvas.shape, "int16")
    for down in range(-reach, reach + 1):
        for right in range(-reach, reach + 1):
            # The part of a pixel at the edge that the disc covers.
            covered = min(max(width + 1 - (down * down + right * right) ** 0.5, 0), 1)
            if covered:
                part = padded[reach + down :, reach + right :][:rows, :columns]
                numpy.maximum(out, (part * covered).astype("int16"), out=out)
    return out


def _store(image: Any, canvas: Any, mode: str, ink: int) -> None:
    """Copies the mask into Pillow's memory; with colours it is the ink's opacity."""
    import numpy
    from PIL import Image

    raw = "L"
    if mode == "RGBA":
        raw = "RGBA"
        colored = numpy.empty((*canvas.shape, 4), numpy.uint8)
        colored[..., :3] = [ink & 255, ink >> 8 & 255, ink >> 16 & 255]
        colored[..., 3] = canvas
        canvas = colored
    decoder = Image._getdecoder(image.mode, "raw", raw)
    decoder.setimage(image, (0, 0, *image.size))
    decoder.decode(numpy.ascontiguousarray(canvas).tobytes())


def _where_it_may_be(path: str) -> str:
    """The path of a font: DejaVu, which matplotlib has, is found under any folder."""
    if os.path.exists(path) or not os.path.basename(path).startswith(("DejaVu", "STIX")):
        return path
    import matplotlib

    known = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", os.path.basename(path))
    return known if os.path.exists(known) else path


def getfont(
    font: str | bytes,
    size: float,
    index: int = 0,
    encoding: str = "",
    font_bytes: bytes = b"",
    layout_engine: int = 1,
) -> Font:
    """Opens a font, as `PIL._imagingft.getfont` does."""
    if size <= 0:
        raise ValueError("font size must be greater than 0")
    if font_bytes:
        return Font(io.BytesIO(font_bytes), size, index, layout_engine)
    path = _where_it_may_be(os.fsdecode(font))
    if not os.path.isfile(path):
        raise OSError("cannot open resource")
    return Font(path, size, index, layout_engine)


def fill_module(namespace: dict[str, Any]) -> None:
    """Fills `PIL._imagingft`."""
    namespace["getfont"] = getfont
    namespace["Font"] = Font
    namespace["freetype2_version"] = _freetype().__freetype_version__
    namespace["HAVE_RAQM"] = True
    namespace["HAVE_FRIBIDI"] = namespace["HAVE_HARFBUZZ"] = True
    namespace["raqm_version"] = namespace["fribidi_version"] = None
    namespace["harfbuzz_version"] = None
