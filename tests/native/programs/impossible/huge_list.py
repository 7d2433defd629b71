# refused: MemoryError: 
x = [0] * (10**10)
