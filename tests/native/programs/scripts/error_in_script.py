# script
print("before")
values = [1, 2]
print(values[5])
