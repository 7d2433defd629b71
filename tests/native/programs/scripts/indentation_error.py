# script
def f():
print(1)
