# refused: MemoryError: 
x = bytearray(3_000_000_000)
