# Made from `_async/inputs.py` by `generate.py`: change that file, not this one.
"""Calls whose arguments may be stored as blobs first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from wardian import _calls, _frames, _inputs
from wardian._sync.blobs import Blobs
from wardian._calls import Request
from wardian._files import as_binary_file


class Order:
    """A call of `run_code` or `execute_skill`. Refuses immediately what cannot be sent."""

    def __init__(self, blobs: Blobs, method: str, params: Mapping[str, Any]) -> None:
        _calls.check(params)
        self._blobs = blobs
        self._method = method
        self._params = params

    def request(self, *, events: bool = False) -> Request:
        """Stores the files, bytes and tables among the arguments, and returns the request."""
        stored: dict[int, str] = {}
        ids: list[str] = []
        names: set[str] = set()
        for found in _inputs.inputs(self._params.get("args")):
            if isinstance(found, _inputs.ToStore):
                # An object is stored only once, even if it appears several times.
                key = id(found.value)
                if key not in stored:
                    stored[key] = self._stored(found, names)
                ids.append(stored[key])
            else:
                ids.append(found.blob_id)
        params = dict(self._params)
        # A skill gets the blobs that its manifest declares; code gets those that are mounted.
        if ids and self._method == "run_code":
            given = list(cast("Iterable[object]", params.get("input_blobs") or []))
            # Those at a path stay objects.
            listed = [str(blob) for blob in given if not isinstance(blob, Mapping)]
            placed: list[object] = [blob for blob in given if isinstance(blob, Mapping)]
            params["input_blobs"] = [*placed, *dict.fromkeys([*listed, *ids])]
        return _calls.call(self._method, params, events=events, stored=stored)

    def _stored(self, found: _inputs.ToStore, names: set[str]) -> str:
        if not _frames.is_table(found.value):
            file = as_binary_file(found.value)
            start = 0 if file is None else file.tell()
            blob = self._blobs.upload(found.value)
            if file is not None:
                # The next call with the same arguments must send the same content.
                file.seek(start)
            return blob.blob_id
        # The argument `sales` can be opened as `sales.csv`.
        name = None if found.name is None else f"{found.name}.csv"
        name = None if name in names else name
        names.update(() if name is None else (name,))
        frame = _frames.as_frame(found.value)
        return (self._blobs.put_frame(frame, name=name)).blob_id
