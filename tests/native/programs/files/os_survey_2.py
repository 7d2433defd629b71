import os, pathlib, shutil, tempfile, glob, fnmatch, stat, io, time, sys, errno, subprocess, filecmp, fileinput, linecache, mmap, getpass, platform, socket, signal
from pathlib import Path


def shown(value):
    """A value as JSON can express it, with its type."""
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return [str(value.dtype), shown(value.tolist())]
    if isinstance(value, dict):
        return [[shown(key), shown(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if type(value).__module__.startswith("pandas") and hasattr(value, "to_csv"):
        return value.to_csv()
    return str(value)


def attempt(action):
    try:
        return shown(action())
    except Exception as error:
        return type(error).__name__


def main(args):
    answers = []
    Path('a').mkdir()
    Path('a/x.txt').write_text('héllo\nworld\n', encoding='utf-8')
    Path('a/b.bin').write_bytes(b'\0\1\2')
    os.makedirs('a/c/d')
    Path('a/c/y.TXT').touch()
    os.symlink('x.txt', 'a/ln')
    answers.append(attempt(lambda: os.sep))
    answers.append(attempt(lambda: os.linesep))
    answers.append(attempt(lambda: os.name))
    answers.append(attempt(lambda: os.curdir))
    answers.append(attempt(lambda: os.pathsep))
    answers.append(attempt(lambda: os.devnull))
    answers.append(attempt(lambda: os.extsep))
    answers.append(attempt(lambda: Path('a/b.tar.gz').suffixes))
    answers.append(attempt(lambda: Path('a/b').with_suffix('.x')))
    answers.append(attempt(lambda: Path('a/b.c').stem))
    answers.append(attempt(lambda: Path('/a/b').relative_to('/a')))
    answers.append(attempt(lambda: Path('a/../b')))
    answers.append(attempt(lambda: Path('/a') / 'b'))
    answers.append(attempt(lambda: Path('a').joinpath('b', 'c')))
    answers.append(attempt(lambda: Path('a/b').parts))
    answers.append(attempt(lambda: Path('/a/b/c').parents[1]))
    answers.append(attempt(lambda: Path('a').is_absolute()))
    answers.append(attempt(lambda: Path('x.PY').match('*.py')))
    answers.append(attempt(lambda: Path('/a b').as_uri()))
    answers.append(attempt(lambda: Path('a') < Path('b')))
    answers.append(attempt(lambda: Path('a/x.txt').read_text().splitlines()))
    answers.append(attempt(lambda: Path('a/x.txt').stat().st_size))
    answers.append(attempt(lambda: Path('a').exists()))
    answers.append(attempt(lambda: Path('a/x.txt').owner()))
    answers.append(attempt(lambda: Path('a/x.txt').group()))
    answers.append(attempt(lambda: [p.name for p in sorted(Path('a').iterdir())]))
    answers.append(attempt(lambda: Path('a/x.txt').is_file()))
    answers.append(attempt(lambda: repr(Path('a'))))
    answers.append(attempt(lambda: Path('a').with_name('z')))
    with tempfile.TemporaryDirectory() as td: Path(td, 'f').write_text('1')
    f = open('s', 'w+b'); f.write(b'hello world'); f.seek(-5, 2)
    return answers
