# script
import importlib
import os
import sys
from pathlib import Path

Path("mypkg").mkdir()
Path("mypkg/__init__.py").write_text("from .core import VALUE\n__all__ = ['VALUE']\n")
Path("mypkg/core.py").write_text("VALUE = 41\ndef bump(): return VALUE + 1\n")
Path("helper.py").write_text("import sys\nNAME = __name__\n")
sys.path.insert(0, os.getcwd())
import helper
import mypkg
from mypkg import core

print(mypkg.VALUE, core.bump(), helper.NAME, core.__name__, os.path.basename(core.__file__))
Path("helper.py").write_text("NAME = 'changed'\n")
importlib.invalidate_caches()
importlib.reload(helper)
print(helper.NAME)
try:
    import mypkg.nothing
except ModuleNotFoundError as e:
    print(e)
try:
    from mypkg import missing
except ImportError as e:
    print(str(e).split(" (")[0])
Path("bad.py").write_text("def f(:\n")
try:
    import bad
except SyntaxError as e:
    print(e.msg, e.lineno, os.path.basename(e.filename))
