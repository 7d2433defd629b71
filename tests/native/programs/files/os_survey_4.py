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
    answers.append(attempt(lambda: open('a/b.bin', 'w').read()))
    answers.append(attempt(lambda: open('a/x.txt', encoding='ascii').read()))
    answers.append(attempt(lambda: open('a/x.txt', encoding='nope')))
    answers.append(attempt(lambda: open(99)))
    answers.append(attempt(lambda: os.chdir('nope')))
    answers.append(attempt(lambda: os.close(99)))
    answers.append(attempt(lambda: open('\0')))
    answers.append(attempt(lambda: open('a' * 300, 'w')))
    answers.append(attempt(lambda: os.open('a', os.O_WRONLY)))
    answers.append(attempt(lambda: os.stat('nope').st_size))
    answers.append(attempt(lambda: os.symlink('x', 'a/ln')))
    answers.append(attempt(lambda: os.link('a/x.txt', 'a/hard')))
    answers.append(attempt(lambda: os.stat('a/hard').st_nlink))
    answers.append(attempt(lambda: os.truncate('a/hard', 3)))
    answers.append(attempt(lambda: os.path.getsize('a/x.txt')))
    answers.append(attempt(lambda: os.utime('a/x.txt', (10**9, 2*10**9))))
    answers.append(attempt(lambda: os.stat('a/x.txt').st_mtime))
    answers.append(attempt(lambda: os.path.getatime('a/x.txt')))
    answers.append(attempt(lambda: os.stat('a/x.txt').st_mtime_ns))
    answers.append(attempt(lambda: time.ctime(os.path.getmtime('a/x.txt'))))
    answers.append(attempt(lambda: os.chmod('a/x.txt', 0o640)))
    answers.append(attempt(lambda: oct(os.stat('a/x.txt').st_mode & 0o777)))
    answers.append(attempt(lambda: os.umask(0o77)))
    answers.append(attempt(lambda: open('um', 'w').close()))
    answers.append(attempt(lambda: oct(os.stat('um').st_mode)))
    answers.append(attempt(lambda: os.umask(0o22)))
    answers.append(attempt(lambda: os.mkdir('m2', 0o700)))
    answers.append(attempt(lambda: oct(os.stat('m2').st_mode)))
    answers.append(attempt(lambda: shutil.copy2('a/x.txt', 'cp')))
    with tempfile.TemporaryDirectory() as td: Path(td, 'f').write_text('1')
    f = open('s', 'w+b'); f.write(b'hello world'); f.seek(-5, 2)
    return answers
