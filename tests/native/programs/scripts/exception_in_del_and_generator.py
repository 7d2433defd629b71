# script
def gen():
    try:
        yield 1
    finally:
        print("gen closed")


g = gen()
next(g)
del g
for i in gen():
    break
print("loop left")


class B:
    def __enter__(self):
        print("enter")
        return self

    def __exit__(self, *a):
        print("exit", a[0].__name__ if a[0] else None)
        return True


with B() as b:
    raise KeyError("x")
try:
    try:
        raise ValueError(1)
    finally:
        print("f")
except ValueError:
    print("c")
else:
    print("never")
for n in range(3):
    if n == 5:
        break
else:
    print("no break")
