# script
import sys

print("checking")
if 1 + 1 == 2:
    sys.exit("fatal: cannot continue")
print("unreachable")
