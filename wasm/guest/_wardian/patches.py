"""Changes to packages of the library, made when a program imports them.

Some C modules of packages are not part of this interpreter. They are replaced by modules that use
the host's codecs and matplotlib's FreeType. In other modules a few names are replaced after their
import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from _wardian import (
    avif,
    blake,
    documents,
    figures,
    fonts,
    import_hooks,
    jpeg,
    levenshtein,
    libraries,
    mapping,
    parquet,
    pdf,
    pillow,
    portals,
    webp,
)


def _image(module: Any) -> None:
    jpeg.add_codecs(module)
    pillow.advise(module)
    module.Image.show = figures.show_picture


_MADE: dict[str, Callable[[dict[str, Any]], None]] = {
    "Levenshtein": levenshtein.fill_module,
    "PIL._imagingcms": pillow.refuse_colours,
    "PIL._imagingft": fonts.fill_module,
    "PIL._webp": webp.fill_module,
    "blake3": blake.fill_module,
    "mmap": mapping.fill_module,
}
"""Modules that are implemented here; the function fills the namespace."""

_CHANGED: dict[str, Callable[[Any], None]] = {
    "anyio._backends._asyncio": portals.run_in_place,
    "anyio.from_thread": portals.open_portals,
    "PIL.AvifImagePlugin": avif.refuse,
    "PIL.Image": _image,
    "PIL.PdfParser": pdf.read_without_mapping,
    "PIL.WebPImagePlugin": webp.replace_save,
    "django.core.servers.basehttp": libraries.refuse_django_server,
    "nltk.data": libraries.add_nltk_data,
    "nltk.downloader": libraries.answer_nltk_downloads,
    "pandas.io.parquet": parquet.add_engine,
    "pydantic.plugin._loader": libraries.search_few_plugins,
    "pyfakefs.fake_filesystem_unittest": libraries.spare_own_modules,
    "werkzeug.serving": libraries.refuse_servers,
}
"""Modules that are changed after they have been executed."""


def install() -> None:
    """Provides and changes the modules of the tables when they are imported."""
    import_hooks.HOOKS.provide(_MADE)
    import_hooks.HOOKS.change(_CHANGED)
    import_hooks.HOOKS.change(documents.CHANGED)
    import_hooks.HOOKS.lend(documents.LENT)
    import_hooks.HOOKS.lend(libraries.LENT)
