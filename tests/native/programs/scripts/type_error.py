# script
print("a" + 1)
