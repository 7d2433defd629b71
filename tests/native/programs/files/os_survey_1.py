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
    answers.append(attempt(lambda: sorted(os.listdir('a'))))
    answers.append(attempt(lambda: sorted(p.as_posix() for p in Path('a').rglob('*'))))
    answers.append(attempt(lambda: sorted(glob.glob('a/**/*', recursive=True))))
    answers.append(attempt(lambda: sorted(glob.glob('**/*.txt', recursive=True))))
    answers.append(attempt(lambda: sorted(p.name for p in Path('a').glob('*.[tT]*'))))
    answers.append(attempt(lambda: [(r, sorted(d), sorted(f)) for r, d, f in os.walk('a')]))
    answers.append(attempt(lambda: os.path.getsize('a/x.txt')))
    answers.append(attempt(lambda: oct(os.stat('a/x.txt').st_mode)))
    answers.append(attempt(lambda: oct(os.stat('a').st_mode)))
    answers.append(attempt(lambda: oct(os.lstat('a/ln').st_mode)))
    answers.append(attempt(lambda: os.readlink('a/ln')))
    answers.append(attempt(lambda: os.path.islink('a/ln')))
    answers.append(attempt(lambda: os.path.realpath('a/ln')))
    answers.append(attempt(lambda: Path('a/ln').resolve().name))
    answers.append(attempt(lambda: os.stat('a/x.txt').st_nlink))
    answers.append(attempt(lambda: stat.filemode(os.stat('a').st_mode)))
    answers.append(attempt(lambda: os.path.samefile('a/ln', 'a/x.txt')))
    answers.append(attempt(lambda: os.path.exists('nope')))
    answers.append(attempt(lambda: os.path.isdir('a')))
    answers.append(attempt(lambda: os.access('a', os.W_OK)))
    answers.append(attempt(lambda: os.getcwd()))
    answers.append(attempt(lambda: Path.home() == Path(os.path.expanduser('~'))))
    answers.append(attempt(lambda: os.path.abspath('a/../b')))
    answers.append(attempt(lambda: os.path.normpath('a//b/../c')))
    answers.append(attempt(lambda: os.path.relpath('/a/b', '/a/c')))
    answers.append(attempt(lambda: os.path.commonpath(['/a/b', '/a/c'])))
    answers.append(attempt(lambda: os.path.splitext('x.tar.gz')))
    answers.append(attempt(lambda: os.path.join('a', '/b')))
    answers.append(attempt(lambda: os.path.split('/a/b/')))
    with tempfile.TemporaryDirectory() as td: Path(td, 'f').write_text('1')
    f = open('s', 'w+b'); f.write(b'hello world'); f.seek(-5, 2)
    return answers
