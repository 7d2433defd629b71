# script
"""Inventory helper."""
total = 0


def add(n):
    global total
    total += n


def outer():
    x = 1
    def inner():
        nonlocal x
        x += 1
        return x
    return inner


add(5)
f = outer()
f()
print(total, f(), __doc__, add.__globals__ is globals(), locals() is globals())
del total
try:
    add(1)
except NameError as e:
    print(e)
exec("y = 5")
print(y, eval("y + 1", {"y": 10}))
