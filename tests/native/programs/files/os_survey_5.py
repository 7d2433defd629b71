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
    answers.append(attempt(lambda: os.stat('cp').st_mtime))
    answers.append(attempt(lambda: oct(os.stat('cp').st_mode)))
    answers.append(attempt(lambda: shutil.copytree('a', 'a2')))
    answers.append(attempt(lambda: sorted(os.listdir('a2'))))
    answers.append(attempt(lambda: os.path.islink('a2/ln')))
    answers.append(attempt(lambda: shutil.copytree('a', 'a3', symlinks=True)))
    answers.append(attempt(lambda: os.path.islink('a3/ln')))
    answers.append(attempt(lambda: shutil.move('a2', 'a4')))
    answers.append(attempt(lambda: os.path.exists('a2')))
    answers.append(attempt(lambda: shutil.make_archive('arc', 'zip', 'a4')))
    answers.append(attempt(lambda: shutil.make_archive('arc', 'gztar', 'a4')))
    answers.append(attempt(lambda: shutil.unpack_archive('arc.zip', 'un')))
    answers.append(attempt(lambda: sorted(os.listdir('un'))))
    answers.append(attempt(lambda: shutil.rmtree('a4')))
    answers.append(attempt(lambda: shutil.which('nope')))
    answers.append(attempt(lambda: shutil.disk_usage('.').total > 0))
    answers.append(attempt(lambda: [f[0] for f in shutil.get_archive_formats()]))
    answers.append(attempt(lambda: shutil.get_terminal_size()))
    answers.append(attempt(lambda: shutil.ignore_patterns('*.x')('a', ['b.x', 'c'])))
    answers.append(attempt(lambda: shutil.copyfileobj(io.BytesIO(b'x'), io.BytesIO())))
    answers.append(attempt(lambda: filecmp.cmp('a/x.txt', 'a3/x.txt')))
    answers.append(attempt(lambda: sorted(filecmp.dircmp('a', 'a3').common)))
    answers.append(attempt(lambda: linecache.getline('a/x.txt', 1)))
    answers.append(attempt(lambda: os.cpu_count() >= 1))
    answers.append(attempt(lambda: os.environ.get('HOME') is not None))
    answers.append(attempt(lambda: os.getenv('NOPE', 'd')))
    answers.append(attempt(lambda: os.path.expandvars('$NOPE/x')))
    answers.append(attempt(lambda: os.urandom(4).__len__()))
    with tempfile.TemporaryDirectory() as td: Path(td, 'f').write_text('1')
    f = open('s', 'w+b'); f.write(b'hello world'); f.seek(-5, 2)
    return answers
