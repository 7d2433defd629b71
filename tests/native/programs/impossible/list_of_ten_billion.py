# refused: MemoryError|OverflowError: 
x = [0] * 10**10
print(len(x))
