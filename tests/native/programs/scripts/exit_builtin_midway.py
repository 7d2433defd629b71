# script
print("a")
exit()
print("b")
