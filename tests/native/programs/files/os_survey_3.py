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
    answers.append(attempt(lambda: Path('~').expanduser() == Path.home()))
    answers.append(attempt(lambda: Path('a/c/d').rmdir()))
    answers.append(attempt(lambda: Path('a/x.txt').rename('a/z.txt')))
    answers.append(attempt(lambda: Path('a/z.txt').replace('a/x.txt')))
    answers.append(attempt(lambda: Path('a/new').touch(exist_ok=False)))
    answers.append(attempt(lambda: Path('a/new').unlink()))
    answers.append(attempt(lambda: Path('a/nope').unlink(missing_ok=True)))
    answers.append(attempt(lambda: Path('a/x.txt').open().readline()))
    answers.append(attempt(lambda: Path('a').walk().__next__()[0]))
    answers.append(attempt(lambda: Path('a/x.txt').samefile('a/ln')))
    answers.append(attempt(lambda: Path('a', 'x.txt').full_match('a/*.txt')))
    answers.append(attempt(lambda: open('a').read()))
    answers.append(attempt(lambda: open('nope')))
    answers.append(attempt(lambda: open('nope/x', 'w')))
    answers.append(attempt(lambda: os.mkdir('a')))
    answers.append(attempt(lambda: os.rmdir('a')))
    answers.append(attempt(lambda: os.remove('a')))
    answers.append(attempt(lambda: os.listdir('a/x.txt')))
    answers.append(attempt(lambda: os.rename('nope', 'x')))
    answers.append(attempt(lambda: Path('a').rmdir()))
    answers.append(attempt(lambda: Path('a').unlink()))
    answers.append(attempt(lambda: os.readlink('a/x.txt')))
    answers.append(attempt(lambda: shutil.copy('nope', 'x')))
    answers.append(attempt(lambda: shutil.copy('a/x.txt', 'a/x.txt')))
    answers.append(attempt(lambda: shutil.rmtree('nope')))
    answers.append(attempt(lambda: shutil.copytree('a', 'a')))
    answers.append(attempt(lambda: open('a/x.txt', 'x')))
    answers.append(attempt(lambda: open('a/x.txt', 'q')))
    answers.append(attempt(lambda: open('a/x.txt').write('x')))
    with tempfile.TemporaryDirectory() as td: Path(td, 'f').write_text('1')
    f = open('s', 'w+b'); f.write(b'hello world'); f.seek(-5, 2)
    return answers
