# script
xs = [1, 2, 3]
def f():
    return [x for x in xs if x > 1]
print(f(), {k: v for k, v in zip("ab", xs)}, {x % 2 for x in xs})
