# script
print("never")
def f(:
    pass
