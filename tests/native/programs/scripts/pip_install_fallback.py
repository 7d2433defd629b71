# script
import subprocess
import sys

try:
    import numpy
except ImportError:
    subprocess.check_call([sys.executable, "-m", "pip", "install", "numpy"])
    import numpy
print(numpy.arange(3))
try:
    import nonexistent_pkg_xyz
except ImportError as e:
    print("fallback:", type(e).__name__, e.name)
