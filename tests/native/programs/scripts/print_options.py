# script
import sys
print("a", "b", sep="-", end="!\n")
print("err", file=sys.stderr)
sys.stdout.write("raw\n")
print(*range(3), flush=True)
