# refused: EOFError: args
n = int(input("Enter a number: "))
print(n * 2)
