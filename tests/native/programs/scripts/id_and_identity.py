# script
a = [1]
b = a
print(id(a) == id(b), a is b, id(a) != id([1]), isinstance(id(a), int))
x = 256
y = 256
print(x is y, "abc" is "abc", None is None)
print(hex(id(a)) != "", repr(object()).startswith("<object object at 0x"))
