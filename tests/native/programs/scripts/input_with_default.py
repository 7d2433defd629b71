# script
try:
    name = input("Your name: ")
except EOFError:
    name = "anonymous"
print(f"Hi {name}")
