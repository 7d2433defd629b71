# refused: CalledProcessError: status 1
import subprocess
import sys

subprocess.check_call([sys.executable, "-m", "pip", "install", "polars"])
import polars
