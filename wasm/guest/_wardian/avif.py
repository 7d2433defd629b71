"""AVIF for Pillow: a refusal that names other formats. The host has no codec for AVIF."""

from __future__ import annotations

from typing import Any

_USE = "use PNG, JPEG or WebP"


def refuse(plugin: Any) -> None:
    """Lets `PIL.AvifImagePlugin` refuse to read and to write, with advice."""
    image = plugin.Image

    def is_avif(prefix: bytes) -> bool:
        return prefix[4:8] == b"ftyp" and prefix[8:12] in (b"avif", b"avis")

    def read(fp: Any = None, filename: Any = None) -> None:
        raise image.UnidentifiedImageError(f"AVIF cannot be read here; {_USE}")

    def write(im: Any, fp: Any, filename: Any) -> None:
        raise OSError(f"AVIF cannot be written here; {_USE}")

    image.register_open("AVIF", read, is_avif)
    image.register_save("AVIF", write)
    image.register_save_all("AVIF", write)
    image.register_extensions("AVIF", [".avif", ".avifs"])
