"""Programs that are not Python: there are none, which is told as on a machine where the program is missing.

The message says what to use in their place. So programs that look for `git` and go on without it do so.
"""

from __future__ import annotations

import errno
import os
import posixpath
from typing import Any

from _wardian import packages

PROCESSES = "no other program can run in the sandbox: use Python's library instead"

_OFFICE = (
    "no office program can run in the sandbox: python-docx, openpyxl and python-pptx read and write its files, and "
    "reportlab or fpdf make a PDF; a layout cannot be converted, nor a workbook be recalculated"
)
_PAGES = "pages of a PDF cannot be drawn in the sandbox: pypdf reads their text and their pictures"
_PDF_TEXT = "no other program can run in the sandbox: use extract_text() of pypdf, or the skill docs.pdf.extract"
_PDF_PARTS = (
    "no other program can run in the sandbox: pypdf merges, splits, rotates and fills PDF files, and reads their text "
    "and pictures"
)
_GIT = "there are no repositories in the sandbox: pass files as blobs, and compare texts with difflib"
_NODE = "no JavaScript can run in the sandbox: write it in Python; jinja2 fills templates, and json reads data"
_PANDOC = (
    "no other program can run in the sandbox: markdown, markdownify, python-docx and html2text convert "
    "between Markdown, HTML, Word and text"
)
_FETCH = (
    "no other program can run in the sandbox: a skill with a network uses requests, httpx or urllib.request; "
    "without one, pass the file as a blob"
)
_MEDIA = (
    "neither sound nor video can be converted in the sandbox: PIL makes and reads animated GIF and WebP files, "
    "and wave and scipy.io.wavfile read and write WAV files"
)
_OCR = "no text can be recognised in pictures in the sandbox: pass the text, or a PDF that has its text"
_IMAGES = "no other program can run in the sandbox: use PIL for pictures, and matplotlib for drawings"
_COMPILER = "nothing can be compiled in the sandbox: use Python with numpy, scipy and what else is there"
_NO_PROCESSES = "no other program runs in the sandbox: there are no processes to list or to end"
_SHELL_TEXT = "no other program can run in the sandbox: use Python's re, pathlib, shutil and glob"
_ARCHIVES = "no other program can run in the sandbox: use Python's zipfile, tarfile, gzip, bz2 or shutil.make_archive"
_BROWSER = "there is no browser in the sandbox: read pages with beautifulsoup4 or lxml, and make PDF files with reportlab"
_GRAPHS = "no other program can run in the sandbox: draw graphs with networkx and matplotlib"
_TEX = "no TeX can run in the sandbox: make a PDF with reportlab, and formulas with matplotlib's mathtext"
_RIGHTS = "a program is root in the sandbox already: leave it out"
_DATABASE = "no other program can run in the sandbox: use Python's sqlite3"
_JSON = "no other program can run in the sandbox: use Python's json, or the package jmespath"

_ADVICE: dict[str, str] = {
    **dict.fromkeys(("soffice", "libreoffice", "unoconv", "unoserver", "localc", "lowriter"), _OFFICE),
    **dict.fromkeys(("pdftoppm", "pdftocairo", "mutool", "gs", "ghostscript"), _PAGES),
    **dict.fromkeys(("pdftotext", "pdftohtml", "pdfinfo", "pdfgrep", "antiword", "catdoc"), _PDF_TEXT),
    **dict.fromkeys(("qpdf", "pdftk", "pdfunite", "pdfseparate", "pdfimages", "pdfcpu"), _PDF_PARTS),
    **dict.fromkeys(("git", "gh", "hg", "svn"), _GIT),
    **dict.fromkeys(("node", "nodejs", "npm", "npx", "yarn", "pnpm", "bun", "deno", "tsc"), _NODE),
    "pandoc": _PANDOC,
    **dict.fromkeys(("curl", "wget", "http", "aria2c"), _FETCH),
    **dict.fromkeys(("ffmpeg", "ffprobe", "sox", "yt-dlp"), _MEDIA),
    "tesseract": _OCR,
    **dict.fromkeys(("convert", "magick", "identify", "mogrify", "inkscape", "rsvg-convert"), _IMAGES),
    **dict.fromkeys(("gcc", "g++", "cc", "clang", "make", "cmake", "cargo", "rustc", "go", "javac"), _COMPILER),
    **dict.fromkeys(("java", "ruby", "perl", "php", "Rscript", "julia", "dotnet"), _COMPILER),
    **dict.fromkeys(("sed", "awk", "xargs", "tree", "diff", "rg"), _SHELL_TEXT),
    **dict.fromkeys(("ps", "top", "pgrep", "pkill", "kill", "free", "lsof"), _NO_PROCESSES),
    **dict.fromkeys(("tar", "zip", "unzip", "gzip", "gunzip", "7z", "bzip2", "xz"), _ARCHIVES),
    **dict.fromkeys(("chromium", "google-chrome", "firefox", "wkhtmltopdf", "playwright"), _BROWSER),
    **dict.fromkeys(("dot", "neato", "mmdc", "plantuml"), _GRAPHS),
    **dict.fromkeys(("pdflatex", "xelatex", "lualatex", "latexmk", "tex"), _TEX),
    **dict.fromkeys(("sudo", "su"), _RIGHTS),
    **dict.fromkeys(("sqlite3", "psql", "mysql", "duckdb"), _DATABASE),
    **dict.fromkeys(("jq", "yq"), _JSON),
}

_INSTALLERS = frozenset({"pip", "pip3", "uv", "uvx", "conda", "mamba", "poetry", "apt", "apt-get", "brew"})
_LOCKS = "a skill's packages are locked with `wardian skills deps lock`"


class Missing(str):
    """The name of a program that cannot run, printed with the reason."""

    advice: str

    def __repr__(self) -> str:
        return f"{super().__repr__()} ({self.advice})"


def missing(arguments: Any) -> FileNotFoundError:
    """The exception for an attempt to start a program, given by its name or its arguments."""
    words = [arguments] if isinstance(arguments, (str, bytes, os.PathLike)) else list(arguments)
    texts = [os.fsdecode(word) for word in words]
    name = Missing(texts[0])
    name.advice = advice_for(texts)
    return FileNotFoundError(errno.ENOENT, "No such file or directory", name)


def advice_for(words: list[str]) -> str:
    """Says what to use in the place of a program."""
    program = posixpath.basename(words[0])
    if program in _INSTALLERS or (words[0] and "install" in words[1:2]):
        about = packages.about_installing(word for word in words[1:] if not word.startswith("-"))
        return f"{about}; {_LOCKS}"
    return _ADVICE.get(program, PROCESSES)


def advice_in(command: Any) -> str:
    """Says what to use in the place of the first program of a command line that does not exist."""
    words = command.split() if isinstance(command, str) else [str(word) for word in command or ()]
    for at, word in enumerate(words):
        if posixpath.basename(word) in _ADVICE or word in _INSTALLERS:
            return advice_for(words[at:])
    return PROCESSES
