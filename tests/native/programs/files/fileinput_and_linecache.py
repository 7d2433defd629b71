# script
import fileinput
import linecache
import os

with open("a.txt", "w") as f:
    f.write("one\ntwo\nthree\n")
with fileinput.input("a.txt", inplace=True) as f:
    for line in f:
        print(line.upper().rstrip(), f.lineno())
print(open("a.txt").read(), end="")
print(repr(linecache.getline("a.txt", 2)))
for i, line in enumerate(open("a.txt"), 1):
    if i == 2:
        print(line.strip())
with open("a.txt", "r+") as f:
    f.readline()
    f.seek(f.tell())
    f.truncate()
print(os.path.getsize("a.txt"))
with open("b.txt", "w") as out:
    print("to file", 1, 2, file=out, sep="-")
print(open("b.txt").read().strip(), os.path.isfile("b.txt"))
