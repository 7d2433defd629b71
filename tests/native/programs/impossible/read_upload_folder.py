# refused: FileNotFoundError: input_blobs
with open("/mnt/data/input.txt") as f:
    print(f.read())
