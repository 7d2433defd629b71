# script
def area(r):
    import math
    return round(math.pi * r**2, 4)


results = {r: area(r) for r in (1, 2)}
results
