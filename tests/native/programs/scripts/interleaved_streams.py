# script
import sys
import os

sys.stdout.write("1 out\n")
sys.stderr.write("2 err\n")
print("3 out", flush=True)
print("4 err", file=sys.stderr)
sys.stdout.flush()
sys.__stdout__ is not None
print("5", end="")
print(" same line")
sys.stdout.writelines(["6\n", "7\n"])
