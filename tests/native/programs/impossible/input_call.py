# refused: : args
name = input("Your name? ")
print("Hi", name)
