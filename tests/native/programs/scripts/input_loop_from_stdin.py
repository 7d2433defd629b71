# script
import sys

data = sys.stdin.read()
print(len(data), sys.stdin.isatty())
for line in sys.stdin:
    print(line)
print("lines done")
