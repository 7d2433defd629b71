"""Where a part of a value is, in messages to the program's author and in notes for the caller."""

from __future__ import annotations

import json
import re

_SHOWN_MAX = 200  # characters of a place in a message
_PATH_MAX = 250  # characters of a path for the caller
_KEY_MAX = 60  # characters of a key in a pattern

_quote = json.encoder.encode_basestring
_is_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch


class Unfit(TypeError):
    """A part of a value has no JSON counterpart."""


Unfit.__name__ = Unfit.__qualname__ = "TypeError"  # what the caller of the run sees
Unfit.__module__ = "builtins"


class Place:
    """The value itself, or one of its parts. Texts are made on demand."""

    __slots__ = ("_item_pattern", "_pattern", "parent", "step")

    def __init__(self, step: object, parent: Place | None = None) -> None:
        self.step = step
        self.parent = parent
        self._pattern: str | None = None
        self._item_pattern: str | None = None

    def __str__(self) -> str:
        """The place in Python, such as `output["rows"][3]`."""
        steps = []
        place: Place | None = self
        while place is not None and place.parent is not None:
            steps.append(f"[{place.in_python()}]")
            place = place.parent
        steps.append(str(place.step) if place is not None else "")
        text = "".join(reversed(steps))
        if len(text) > _SHOWN_MAX:
            half = _SHOWN_MAX // 2
            text = f"{text[:half]}…{text[-half:]}"
        return text

    def in_python(self) -> str:
        """The last step in Python."""
        return str(self.step)

    def path(self) -> str:
        """The place as a JSONPath, such as `$.rows[3]`. One that is too long is cut."""
        steps = []
        place: Place = self
        while place.parent is not None:
            steps.append(place.in_path())
            place = place.parent
        text = "".join(("$", *reversed(steps)))
        return text if len(text) <= _PATH_MAX else f"{text[:_PATH_MAX]}…"

    def in_path(self) -> str:
        """The last step of the path."""
        return ""

    def pattern(self) -> str:
        """The path, the same for all items of a list."""
        if self._pattern is None:
            self._pattern = self._own_pattern()
        return self._pattern

    def item_pattern(self) -> str:
        """The pattern of the items of a list that is here."""
        if self._item_pattern is None:
            self._item_pattern = f"{self.pattern()}[*]"
        return self._item_pattern

    def _own_pattern(self) -> str:
        return "$"


class Item(Place):
    """An item of a list."""

    __slots__ = ()

    def __init__(self, at: int | str, parent: Place) -> None:
        super().__init__(at, parent)

    def in_path(self) -> str:
        return f"[{self.step}]"

    def _own_pattern(self) -> str:
        return self.parent.item_pattern() if self.parent is not None else "$"


class Member(Place):
    """A member of an object."""

    __slots__ = ()

    def __init__(self, name: str, parent: Place) -> None:
        super().__init__(name, parent)

    def in_python(self) -> str:
        return _quote(str(self.step)[: _SHOWN_MAX + 1])

    def in_path(self) -> str:
        name = str(self.step)
        if len(name) > _PATH_MAX:
            name = f"{name[:_PATH_MAX]}…"
        return f".{name}" if _is_name(name) else f"[{_quote(name)}]"

    def _own_pattern(self) -> str:
        before = self.parent.pattern() if self.parent is not None else "$"
        return f"{before}.{str(self.step)[:_KEY_MAX]}"
