# refused: MemoryError|ValueError|OverflowError: memory_bytes
x = bytearray(3_000_000_000)
