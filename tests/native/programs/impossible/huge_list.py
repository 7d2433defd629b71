# refused: MemoryError|ValueError|OverflowError: memory_bytes
x = [0] * (10**10)
