# script
import os
import shutil
import sys

print("\033[31mred\033[0m")
print(shutil.get_terminal_size(fallback=(80, 24)).columns)
try:
    print(os.get_terminal_size().columns)
except OSError as e:
    print("no terminal")
print(os.environ.get("TERM"), sys.stdout.isatty(), sys.stdin is None)
