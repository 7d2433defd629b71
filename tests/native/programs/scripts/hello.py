# script
print("Hello, world!")
