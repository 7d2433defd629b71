# script
value = 3
print(valeu)
