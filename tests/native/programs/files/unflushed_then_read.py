# script
f = open("late.txt", "w")
f.write("buffered text")
print(repr(open("late.txt").read()))
f.flush()
print(repr(open("late.txt").read()))
del f
with open("late.txt") as g:
    print(g.read(8), g.tell(), g.readline(), g.read())
w = open("auto.txt", "w")
w.write("closed by refcount")
w = None
print(open("auto.txt").read())
