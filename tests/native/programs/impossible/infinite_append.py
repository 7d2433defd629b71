# refused: MemoryError|MemoryLimit: memory
data = []
while True:
    data.append("x" * 1_000_000 + str(len(data)))
