"""Runs pip as if on the platform of guests.

pip takes the tags of wheels and the version of Python for another platform from its options, but
evaluates markers for the interpreter that it runs on. So the values of markers are replaced first.
The arguments: the values as JSON, and then those of pip.
"""

import json
import os
import runpy
import sys

values = json.loads(sys.argv.pop(1))
try:
    from pip._vendor.packaging import markers
except ImportError:
    sys.exit("wardian: no pip")
markers.default_environment = lambda: dict(values)
# By itself, pip asks a registry that does not answer six times, for each package.
os.environ.setdefault("PIP_RETRIES", "2")
os.dup2(2, 1)  # pip states the cause of a conflict on standard output
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
